//! Moments as people read them, always in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment as `2026-01-31T23:59:59Z`.
pub fn date(moment: SystemTime) -> String {
    let seconds = moment
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // The civil calendar from the days since 1970, in eras of 400 years that begin in March
    // (Hinnant: "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let [hour, minute, second] = [second / 3600, second / 60 % 60, second % 60];
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The moment of a year, month, day, hour, minute and second from 1970 on; `None` if there is none.
pub(crate) fn moment([year, month, day, hour, minute, second]: [u64; 6]) -> Option<SystemTime> {
    let fits = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !fits {
        return None;
    }
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + of_year;
    let seconds = (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar_and_back() {
        for (seconds, expected, parts) in [
            (0, "1970-01-01T00:00:00Z", [1970, 1, 1, 0, 0, 0]),
            (
                951_782_399,
                "2000-02-28T23:59:59Z",
                [2000, 2, 28, 23, 59, 59],
            ),
            (951_782_400, "2000-02-29T00:00:00Z", [2000, 2, 29, 0, 0, 0]),
            (
                1_709_251_199,
                "2024-02-29T23:59:59Z",
                [2024, 2, 29, 23, 59, 59],
            ),
            (4_107_542_400, "2100-03-01T00:00:00Z", [2100, 3, 1, 0, 0, 0]),
        ] {
            let at = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(date(at), expected);
            assert_eq!(moment(parts), Some(at));
        }
        assert_eq!(moment([1969, 12, 31, 0, 0, 0]), None);
        assert_eq!(moment([2026, 13, 1, 0, 0, 0]), None);
    }
}
