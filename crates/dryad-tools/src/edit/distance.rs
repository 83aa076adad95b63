//! Edit distance between two lines, with a bound on the work of a whole search.

/// How much work a search may still do, in elementary steps.
pub(super) struct Budget(u64);

impl Budget {
    pub(super) fn new(steps: u64) -> Self {
        Self(steps)
    }

    /// Takes steps out; none when too few are left, and then nothing more is possible.
    fn spend(&mut self, steps: u64) -> Option<()> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop)
    }
}

/// The number of characters to insert, delete or replace; none when the budget is used up.
pub(super) fn distance(a: &[char], b: &[char], budget: &mut Budget) -> Option<usize> {
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(prefix..).unwrap_or_default(), b.get(prefix..).unwrap_or_default());
    let suffix = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(..a.len() - suffix).unwrap_or_default(), b.get(..b.len() - suffix).unwrap_or_default());
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    match short.len() {
        0 => Some(long.len()),
        1..=64 => {
            budget.spend(long.len() as u64 + 8)?;
            Some(bit_parallel(short, long))
        }
        _ => {
            budget.spend(short.len() as u64 * long.len() as u64)?;
            Some(by_rows(short, long))
        }
    }
}

/// Myers' algorithm: one machine word holds a whole column, as differences between neighbours.
fn bit_parallel(pattern: &[char], text: &[char]) -> usize {
    let rows = Rows::of(pattern);
    let last = 1_u64 << (pattern.len() - 1);
    let (mut plus, mut minus, mut score) = (u64::MAX, 0_u64, pattern.len());
    for &character in text {
        let equal = rows.holding(character);
        let vertical = equal | minus;
        let horizontal = ((equal & plus).wrapping_add(plus) ^ plus) | equal;
        let mut up = minus | !(horizontal | plus);
        let mut down = plus & horizontal;
        if up & last != 0 {
            score += 1;
        }
        if down & last != 0 {
            score -= 1;
        }
        up = (up << 1) | 1;
        down <<= 1;
        plus = down | !(vertical | up);
        minus = up & vertical;
    }
    score
}

/// The rows of a pattern that hold a character, as bits.
struct Rows {
    ascii: [u64; 128],
    others: Vec<(char, u64)>,
}

impl Rows {
    fn of(pattern: &[char]) -> Self {
        let mut rows = Self { ascii: [0; 128], others: Vec::new() };
        for (row, &character) in pattern.iter().enumerate() {
            let bit = 1_u64 << row;
            match rows.ascii.get_mut(character as usize) {
                Some(bits) => *bits |= bit,
                None => rows.others.push((character, bit)),
            }
        }
        rows
    }

    fn holding(&self, character: char) -> u64 {
        match self.ascii.get(character as usize) {
            Some(bits) => *bits,
            None => self.others.iter().filter(|(known, _)| *known == character).fold(0, |bits, (_, bit)| bits | bit),
        }
    }
}

fn by_rows(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (above, a) in a.iter().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (b, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(a: &str, b: &str) -> Option<usize> {
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        distance(&characters(a), &characters(b), &mut Budget::new(1_000_000))
    }

    #[test]
    fn known_distances() {
        assert_eq!(of("kitten", "sitting"), Some(3));
        assert_eq!(of("", "abc"), Some(3));
        assert_eq!(of("größe", "grosse"), Some(3));
        assert_eq!(of("same", "same"), Some(0));
    }

    #[test]
    fn an_empty_budget_ends_the_search() {
        let (a, b) = (vec!['a'; 2000], vec!['b'; 2000]);
        assert_eq!(distance(&a, &b, &mut Budget::new(1000)), None);
    }

    proptest! {
        #[test]
        fn both_ways_of_counting_agree(a in "[abcü]{1,64}", b in "[abcü]{1,90}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(bit_parallel(&a, &b), by_rows(&a, &b));
        }
    }
}
