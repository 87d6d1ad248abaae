use super::*;

mod turns;

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(20);

fn queue(change: impl FnOnce(&mut Limits)) -> Queue {
    let mut limits = Limits {
        waiting: 2,
        batch: 4,
        wait: Duration::ZERO,
        keep: LONG,
        keep_bytes: 1 << 20,
        patience: LONG,
    };
    change(&mut limits);
    let queue = Queue::new(limits);
    queue.open();
    queue
}

fn code(refused: Result<(), Refused>) -> &'static str {
    refused.expect_err("refused").code
}

fn ids(found: &[Ready]) -> Vec<u8> {
    found.iter().map(|ready| ready.id[0]).collect()
}

#[test]
fn more_than_the_limit_is_refused_until_there_is_room() {
    let queue = queue(|_| {});
    for id in [1, 2] {
        assert_eq!(queue.submit("lab", [id; 16], 1, vec![id]), Ok(()));
    }
    assert_eq!(code(queue.submit("lab", [3; 16], 1, vec![3])), "busy");
    // The same request again takes no room.
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    assert!(queue.forget(&[1; 16]));
    assert_eq!(queue.submit("lab", [3; 16], 1, vec![3]), Ok(()));
    assert_eq!(queue.waiting(), 2);
}

/// The socket can be read from once for all that ended since somebody looked, whatever became of them.
#[test]
fn a_bell_rings_for_what_has_ended() {
    let queue = queue(|limits| limits.waiting = 8);
    let mut bell = queue.bell().expect("there are sockets");
    let mut rung = || std::io::Read::read(&mut bell, &mut [0; 8]).unwrap_or(0);
    for id in 1..=5 {
        assert_eq!(queue.submit("lab", [id; 16], 1, vec![id]), Ok(()));
    }
    assert_eq!((rung(), queue.ended()), (0, vec![]));
    queue.end(&[1; 16], Ok(vec![7]));
    queue.give_up(&[2; 16], Refused::new("missing-elsewhere", ""));
    assert_eq!((rung(), queue.ended()), (1, vec![[1; 16], [2; 16]]));
    assert!(queue.forget(&[3; 16]));
    assert_eq!((rung(), queue.ended()), (0, vec![]));
    queue.refuse_all(&Refused::new("drained", ""));
    let mut ended = queue.ended();
    ended.sort_unstable();
    assert_eq!((rung(), ended), (1, vec![[4; 16], [5; 16]]));
    // Nobody listens to the first one any more.
    let _other = queue.bell().expect("there are sockets");
    assert_eq!(queue.submit("lab", [6; 16], 1, vec![6]), Ok(()));
    queue.end(&[6; 16], Ok(vec![]));
    assert_eq!((rung(), queue.ended()), (0, vec![[6; 16]]));
}

/// A batch waits for more until it is full, and not longer than it may.
#[test]
fn a_batch_waits_for_more() {
    let patient = queue(|limits| (limits.waiting, limits.batch, limits.wait) = (8, 2, LONG));
    std::thread::scope(|scope| {
        assert_eq!(patient.submit("lab", [1; 16], 1, vec![1]), Ok(()));
        let gathered = scope.spawn(|| ids(&patient.gather(0, LONG, LONG)));
        std::thread::sleep(20 * SHORT);
        assert_eq!(patient.submit("lab", [2; 16], 1, vec![2]), Ok(()));
        assert_eq!(gathered.join().expect("no panic"), [1, 2]);
    });
    let short = queue(|limits| (limits.batch, limits.wait) = (2, 20 * SHORT));
    assert_eq!(short.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    assert_eq!(ids(&short.gather(0, LONG, LONG)), [1]);
}

#[test]
fn a_batch_is_the_oldest_that_fit() {
    let queue = queue(|limits| limits.waiting = 8);
    for (id, items) in [(1, 2), (2, 2), (3, 1)] {
        assert_eq!(queue.submit("lab", [id; 16], items, vec![id]), Ok(()));
    }
    assert_eq!(ids(&queue.gather(0, LONG, LONG)), [1, 2]);
    queue.postpone(&[1; 16], LONG);
    queue.postpone(&[2; 16], Duration::ZERO);
    assert_eq!(ids(&queue.gather(0, LONG, LONG)), [3, 2]);
    // A request of more items than a batch has is alone in one.
    let large = self::queue(|_| {});
    assert_eq!(large.submit("lab", [1; 16], 9, vec![]), Ok(()));
    assert_eq!(ids(&large.gather(0, LONG, LONG)), [1]);
}

#[test]
fn a_number_is_used_once() {
    let queue = queue(|limits| limits.keep = SHORT);
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    assert_eq!(code(queue.submit("lab", [1; 16], 1, vec![2])), "reused");
    assert!(queue.begin(&[1; 16]).is_some());
    // Not taken twice.
    assert!(queue.begin(&[1; 16]).is_none());
    assert_eq!(code(queue.submit("lab", [1; 16], 1, vec![2])), "reused");
    queue.end(&[1; 16], Ok(vec![7]));
    std::thread::sleep(10 * SHORT);
    assert_eq!(queue.submit("lab", [2; 16], 1, vec![2]), Ok(()));
    // Its answer is forgotten, its number is not.
    let answer = queue.answer(&[1; 16], SHORT).expect("an answer");
    assert_eq!(answer.expect_err("forgotten").code, "unknown");
    assert_eq!(code(queue.submit("lab", [1; 16], 1, vec![1])), "reused");
}

#[test]
fn what_waits_for_too_long_is_refused() {
    let queue = queue(|limits| limits.patience = SHORT);
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    std::thread::sleep(10 * SHORT);
    let answer = queue.answer(&[1; 16], LONG).expect("an answer");
    assert_eq!(answer.expect_err("late").code, "missing-elsewhere");
    assert!(queue.gather(0, SHORT, LONG).is_empty());
}

#[test]
fn a_closed_queue_answers_what_it_has() {
    let queue = queue(|_| {});
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    queue.close(Refused::new("draining", "closed"));
    assert_eq!(code(queue.submit("lab", [2; 16], 1, vec![2])), "draining");
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    assert_eq!(ids(&queue.gather(0, LONG, LONG)), [1]);
    queue.refuse_all(&Refused::new("failed", "gone"));
    let answer = queue.answer(&[1; 16], SHORT).expect("an answer");
    assert_eq!(answer.expect_err("refused").code, "failed");
}

/// Who waits for an answer gets it from another thread.
#[test]
fn an_answer_comes_while_it_is_waited_for() {
    let queue = queue(|_| {});
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    assert_eq!(queue.answer(&[1; 16], SHORT), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            queue.begin(&[1; 16]);
            queue.end(&[1; 16], Ok(vec![7]));
        });
        assert_eq!(queue.answer(&[1; 16], LONG), Some(Ok(vec![7])));
    });
}

/// A party that has told the others of a request has it until they have decided, whatever its client does.
#[test]
fn what_is_held_stays() {
    let queue = queue(|limits| limits.patience = SHORT);
    assert_eq!(queue.submit("lab", [1; 16], 1, vec![1]), Ok(()));
    assert_eq!(
        queue.inspect(0, &[[1; 16]], LONG, |waiting| waiting.items),
        [Some(1)]
    );
    assert!(!queue.forget(&[1; 16]));
    std::thread::sleep(10 * SHORT);
    assert_eq!(queue.answer(&[1; 16], SHORT), None);
    assert!(queue.begin(&[1; 16]).is_some());
    // One that is postponed is its client's again.
    assert_eq!(queue.submit("lab", [2; 16], 1, vec![2]), Ok(()));
    assert_eq!(
        queue.inspect(0, &[[2; 16]], LONG, |waiting| waiting.items),
        [Some(1)]
    );
    queue.postpone(&[2; 16], SHORT);
    assert!(queue.forget(&[2; 16]));
    let answer = queue.answer(&[2; 16], SHORT).expect("an answer");
    assert_eq!(answer.expect_err("gone").code, "unknown");
    // Nothing was computed: the same may come again.
    assert_eq!(queue.submit("lab", [2; 16], 1, vec![2]), Ok(()));
}

/// What was proposed in vain does not stand before what was not.
#[test]
fn what_others_lack_waits_behind() {
    let queue = queue(|limits| {
        limits.batch = 1;
        limits.waiting = 8;
    });
    for id in [1, 2] {
        assert_eq!(queue.submit("lab", [id; 16], 1, vec![id]), Ok(()));
    }
    queue.postpone(&[1; 16], Duration::ZERO);
    assert_eq!(ids(&queue.gather(0, LONG, LONG)), [2]);
    queue.begin(&[2; 16]);
    assert_eq!(ids(&queue.gather(0, LONG, LONG)), [1]);
    queue.postpone(&[1; 16], Duration::ZERO);
    queue.refuse_unknown(
        &[[1; 16]],
        Duration::ZERO,
        &Refused::new("missing-elsewhere", "no"),
    );
    assert_eq!(queue.waiting(), 1);
    queue.refuse_unknown(
        &[],
        Duration::ZERO,
        &Refused::new("missing-elsewhere", "no"),
    );
    assert_eq!(queue.waiting(), 0);
    // A share that comes when all others have given its request up.
    queue.give_up(&[3; 16], Refused::new("missing-elsewhere", "no"));
    assert_eq!(
        code(queue.submit("lab", [3; 16], 1, vec![3])),
        "missing-elsewhere"
    );
}

/// Of answers that are kept only the latest stay; the numbers of the others are not taken again.
#[test]
fn answers_are_kept_within_a_limit() {
    let queue = queue(|limits| limits.keep_bytes = 2 * (1000 + 256));
    for id in 1..=5 {
        assert_eq!(queue.submit("lab", [id; 16], 1, vec![id]), Ok(()));
        assert!(queue.begin(&[id; 16]).is_some());
        queue.end(&[id; 16], Ok(vec![id; 1000]));
    }
    for id in 1..=5 {
        let answer = queue.answer(&[id; 16], SHORT).expect("an answer");
        match id {
            4.. => assert_eq!(answer, Ok(vec![id; 1000])),
            _ => assert_eq!(answer.expect_err("forgotten").code, "unknown"),
        }
    }
    assert_eq!(code(queue.submit("lab", [1; 16], 1, vec![1])), "reused");
    // One that is larger than the limit is kept alone: who asked has not got it yet.
    assert_eq!(queue.submit("lab", [9; 16], 1, vec![9]), Ok(()));
    assert!(queue.begin(&[9; 16]).is_some());
    queue.end(&[9; 16], Ok(vec![9; 5000]));
    let answer = queue.answer(&[9; 16], SHORT).expect("an answer");
    assert_eq!(answer, Ok(vec![9; 5000]));
}

/// What one session has taken no other proposes, has, or refuses; when it is over its number is used.
#[test]
fn a_request_is_in_one_session() {
    let queue = queue(|limits| limits.waiting = 8);
    for id in [1, 2] {
        assert_eq!(queue.submit("lab", [id; 16], 4, vec![id]), Ok(()));
    }
    assert_eq!(ids(&queue.gather(0, LONG, LONG)), [1]);
    assert_eq!(ids(&queue.gather(1, LONG, LONG)), [2]);
    assert!(queue.gather(2, SHORT, LONG).is_empty());
    let here = |session, id| queue.inspect(session, &[[id; 16]], SHORT, |_| ())[0].is_some();
    assert!(here(0, 1) && !here(1, 1) && here(1, 2) && !here(0, 2));
    let why = Refused::new("missing-elsewhere", "no");
    queue.refuse_unknown(&[], Duration::ZERO, &why);
    queue.refuse_waiting(&why);
    assert_eq!(queue.waiting(), 2);
    // Postponed, it is anybody's.
    queue.postpone(&[2; 16], Duration::ZERO);
    assert!(here(0, 2));
    assert!(queue.begin(&[1; 16]).is_some());
    assert!(queue.begin(&[1; 16]).is_none() && !here(1, 1));
    queue.end(&[1; 16], Ok(vec![]));
    assert!(!here(1, 1));
}
