//! The queue shared out among clients.

use super::*;

/// What waits at a queue, by first bytes of numbers.
fn waits(queue: &Queue) -> Vec<u8> {
    let mut found: Vec<u8> = (queue.lock().order.iter()).map(|id| id[0]).collect();
    found.sort_unstable();
    found
}

fn ask(queue: &Queue, client: &str, id: u8) -> Result<(), Refused> {
    queue.submit(client, [id; 16], 1, vec![id])
}

/// Sends requests of a client that another party never has, and gives them up.
fn lacks(queue: &Queue, client: &str, ids: std::ops::Range<u8>) {
    for id in ids {
        assert_eq!(ask(queue, client, id), Ok(()));
        queue.give_up(&[id; 16], Refused::new("missing-elsewhere", "no"));
    }
}

#[test]
fn whoever_fills_the_queue_gives_way() {
    let queue = queue(|limits| limits.waiting = 6);
    for id in 10..16 {
        assert_eq!(ask(&queue, "hog", id), Ok(()));
    }
    assert_eq!(code(ask(&queue, "hog", 16)), "busy");
    for id in 1..4 {
        assert_eq!(ask(&queue, "lab", id), Ok(()));
    }
    // Each has its half now; neither takes a place from the other.
    assert_eq!(waits(&queue), [1, 2, 3, 10, 11, 12]);
    assert_eq!(code(ask(&queue, "lab", 4)), "busy");
    assert_eq!(code(ask(&queue, "hog", 17)), "busy");
    // A third has its share of both.
    assert_eq!(ask(&queue, "shop", 20), Ok(()));
    assert_eq!(ask(&queue, "shop", 21), Ok(()));
    assert_eq!(waits(&queue), [1, 2, 10, 11, 20, 21]);
}

/// Who lost its place hears it, and may come again under the same number.
#[test]
fn a_place_that_was_lost_may_be_had_again() {
    let queue = queue(|limits| limits.waiting = 2);
    for id in [10, 11] {
        assert_eq!(ask(&queue, "hog", id), Ok(()));
    }
    assert_eq!(ask(&queue, "lab", 1), Ok(()));
    let answer = queue.answer(&[11; 16], SHORT).expect("an answer");
    assert_eq!(answer.expect_err("pushed out").code, "busy");
    assert!(queue.begin(&[1; 16]).is_some());
    assert_eq!(ask(&queue, "hog", 11), Ok(()));
    assert_eq!(queue.answer(&[11; 16], SHORT), None);
    assert_eq!(waits(&queue), [10, 11]);
    // Its number is not one that was used, either, when the refusal is forgotten.
    let quick = self::queue(|limits| {
        limits.waiting = 1;
        limits.keep = SHORT;
    });
    assert_eq!(ask(&quick, "hog", 10), Ok(()));
    assert_eq!(ask(&quick, "hog", 9), Ok(()));
    std::thread::sleep(10 * SHORT);
    assert_eq!(ask(&quick, "hog", 8), Ok(()));
    assert!(quick.forget(&[8; 16]));
    assert_eq!(ask(&quick, "hog", 10), Ok(()));
}

/// What the other parties were told of stays, whoever comes.
#[test]
fn what_is_held_is_not_pushed_out() {
    let queue = queue(|limits| limits.waiting = 2);
    for id in [10, 11] {
        assert_eq!(ask(&queue, "hog", id), Ok(()));
    }
    queue.inspect(0, &[[10; 16], [11; 16]], LONG, |_| ());
    assert_eq!(code(ask(&queue, "lab", 1)), "busy");
    assert_eq!(waits(&queue), [10, 11]);
}

/// One client sends more than the queue has, to each party in another order: all keep the same.
#[test]
fn parties_that_are_full_keep_the_same() {
    let orders: [Vec<u8>; 3] = [
        (0..40).collect(),
        (0..40).rev().collect(),
        (0..40).map(|i: u8| (u16::from(i) * 7 % 40) as u8).collect(),
    ];
    let queues = orders.map(|order| {
        let queue = queue(|limits| limits.waiting = 8);
        for _ in 0..2 {
            // Refused ones are sent again.
            for &id in &order {
                let _ = ask(&queue, "lab", id);
            }
        }
        waits(&queue)
    });
    for found in queues {
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn a_batch_has_requests_of_all() {
    let queue = queue(|limits| limits.waiting = 32);
    for id in 10..20 {
        assert_eq!(ask(&queue, "hog", id), Ok(()));
    }
    for (client, id) in [("lab", 1), ("lab", 2), ("shop", 3)] {
        assert_eq!(ask(&queue, client, id), Ok(()));
    }
    let mut found = ids(&queue.gather(0, LONG, LONG));
    found.sort_unstable();
    assert_eq!(found.len(), 4);
    assert!(found.contains(&1) && found.contains(&3) && found.contains(&10));
}

/// By items, not by requests; and who did not fit is the first of the next batch.
#[test]
fn turns_go_by_items() {
    let queue = queue(|limits| limits.waiting = 32);
    for (client, id, items) in [("hog", 10, 3), ("hog", 11, 3), ("lab", 1, 1), ("lab", 2, 1)] {
        let taken = queue.submit(client, [id; 16], items, vec![id]);
        assert_eq!(taken, Ok(()));
    }
    let mut order = Vec::new();
    while queue.waiting() > 0 {
        let mut found = ids(&queue.gather(0, LONG, LONG));
        for id in &found {
            assert!(queue.begin(&[*id; 16]).is_some());
        }
        found.sort_unstable();
        order.push(found);
    }
    assert!(order == [vec![1, 2], vec![10], vec![11]] || order == [vec![1, 10], vec![2, 11]]);
}

/// A client whose requests the others lack stands behind, until answers have made up for it.
#[test]
fn who_sends_to_some_alone_stands_behind() {
    let queue = queue(|limits| {
        limits.waiting = 4;
        limits.batch = 1;
    });
    lacks(&queue, "hog", 100..110);
    for (client, id) in [("hog", 10), ("lab", 20), ("lab", 21), ("lab", 22)] {
        assert_eq!(ask(&queue, client, id), Ok(()));
    }
    // Its requests give way, though it has the fewest; and are not waited for at the others.
    assert_eq!(ask(&queue, "lab", 23), Ok(()));
    assert_eq!(waits(&queue), [20, 21, 22, 23]);
    for id in 20..24 {
        assert!(queue.begin(&[id; 16]).is_some());
    }
    assert_eq!(ask(&queue, "hog", 10), Ok(()));
    assert!(!queue.gather(0, LONG, LONG)[0].first);
    for id in 10..19 {
        assert_eq!(ask(&queue, "hog", id), Ok(()));
        assert!(queue.begin(&[id; 16]).is_some());
        queue.end(&[id; 16], Ok(Vec::new()));
    }
    assert_eq!(ask(&queue, "hog", 30), Ok(()));
    assert!(queue.gather(0, LONG, LONG)[0].first);
}

/// Nor by taking them back: what was proposed in vain counts when its client is gone.
#[test]
fn requests_that_are_taken_back_count() {
    let queue = queue(|limits| limits.waiting = 8);
    for id in 10..14 {
        assert_eq!(ask(&queue, "hog", id), Ok(()));
        queue.postpone(&[id; 16], SHORT);
        assert!(queue.forget(&[id; 16]));
    }
    assert_eq!(ask(&queue, "hog", 20), Ok(()));
    assert!(!queue.gather(0, LONG, LONG)[0].first);
    // A few may happen to anyone, and one that was not proposed says nothing.
    lacks(&queue, "lab", 30..32);
    assert_eq!(ask(&queue, "lab", 40), Ok(()));
    let found = queue.gather(0, LONG, LONG);
    assert!(found.iter().any(|ready| ready.id[0] == 40 && ready.first));
}
