//! Scripts made of random steps: rehearsed and applied must equal run directly.

use super::place::{Place, difference, print_of, times_of};
use std::fs;

/// A generator of numbers that is the same everywhere: a failing script can be had again by its seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }

    /// A path of few names, so that steps meet.
    fn path(&mut self) -> String {
        let names = ["a", "b", "c", "d e", "f"];
        let depth = 1 + self.roll(3);
        (0..depth).map(|_| self.pick(&names)).collect::<Vec<_>>().join("/")
    }

    fn step(&mut self, number: usize) -> String {
        let (one, two) = (self.path(), self.path());
        match self.roll(20) {
            0 | 1 => format!("mkdir -p '{one}'"),
            2..=4 => format!("echo {number} > '{one}'"),
            5 => format!("echo {number} >> '{one}'"),
            6 => format!("sed -i 's/[0-9]/{number}&/' '{one}'"),
            7..=9 => format!("mv -f '{one}' '{two}'"),
            10 => format!("mv -fT '{one}' '{two}'"),
            11 => format!("rm -rf '{one}'"),
            12 => format!("rm -f '{one}'"),
            13 => format!("ln -sfn '{two}' '{one}'"),
            14 => format!("chmod {} '{one}'", self.pick(&["600", "644", "755", "700", "711"])),
            // By way of another place: what a copy into itself comes to depends on the order of a listing.
            15 => format!("cp -aT '{one}' ../copy && cp -aT ../copy '{two}'; rm -rf ../copy"),
            16 => format!("perl -e 'rename(q({one}), q({two}))'"),
            17 => format!("tar cf ../tar '{one}' && mkdir -p '{two}' && tar xf ../tar -C '{two}'; rm -f ../tar"),
            18 => format!("rmdir '{one}'"),
            _ => format!("truncate -s {} '{one}'", self.roll(5000)),
        }
    }

    pub(crate) fn script(&mut self, steps: usize) -> String {
        let steps: Vec<String> = (0..steps).map(|number| format!("{{ {}; }} 2>/dev/null", self.step(number))).collect();
        format!("{}\ntrue", steps.join("\n"))
    }
}

/// Scripts that are rehearsed together, each in a tree of its own.
const TOGETHER: u64 = 25;

/// Scripts of one test. Two thousand in all.
const OF_ONE_TEST: u64 = 500;

/// Steps of a script, and of the one that made the tree before it.
const STEPS: usize = 11;

#[tokio::test]
async fn generated_scripts_rehearsed_and_applied_equal_a_direct_run() {
    equal_a_direct_run(0).await;
}

#[tokio::test]
async fn other_generated_scripts_do_so_too() {
    equal_a_direct_run(1).await;
}

#[tokio::test]
async fn and_others() {
    equal_a_direct_run(2).await;
}

#[tokio::test]
async fn and_still_others() {
    equal_a_direct_run(3).await;
}

/// Rehearses scripts of a seed each, applies what they change and takes it back.
async fn equal_a_direct_run(part: u64) {
    let count: u64 = std::env::var("DRYAD_TEST_SCRIPTS").map_or(OF_ONE_TEST, |text| text.parse().unwrap());
    for first in (part * count + 1..=part * count + count).step_by(usize::try_from(TOGETHER).unwrap()) {
        let place = Place::quick();
        let direct = place.root().join("direct");
        fs::create_dir(&direct).unwrap();
        let (mut prepare, mut script) = (String::new(), String::new());
        for seed in first..first + TOGETHER {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            prepare.push_str(&format!("mkdir {seed}; (cd {seed}; {}\n)\n", dice.script(STEPS)));
            script.push_str(&format!("(cd {seed}; {}\n)\n", dice.script(STEPS)));
        }
        place.run_directly(&prepare, &place.work());
        place.run_directly(&format!("cp -a '{}/.' .", place.work().display()), &direct);
        let (original, times) = (place.print(), times_of(&place.work()));
        assert!(original == print_of(&direct) && original.len() > 50, "{}", original.len());
        place.run_directly(&script, &direct);
        let rehearsed = place.rehearse(&script).await;
        assert!(place.print() == original, "the rehearsal changed the tree");
        let done = place.apply(&rehearsed);
        assert!(done.is_ok(), "applying from seed {first}: {done:?}");
        let (applied, wanted) = (place.print(), print_of(&direct));
        assert!(applied == wanted, "{}\n{script}", difference(&applied, &wanted));
        let done = place.undo(&rehearsed);
        assert!(done.is_ok(), "undoing from seed {first}: {done:?}");
        assert!(place.print() == original, "undone: {}", difference(&place.print(), &original));
        assert_eq!(times_of(&place.work()), times, "undone from seed {first}");
    }
}
