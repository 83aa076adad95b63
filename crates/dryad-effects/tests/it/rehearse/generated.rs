//! Scripts made of random steps: rehearsed and applied must equal run directly.

use super::place::{Place, difference, print_of};
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
            // What a copy into itself comes to depends on the order of a listing.
            15 if !format!("{two}/").starts_with(&format!("{one}/")) => format!("cp -aT '{one}' '{two}'"),
            16 => format!("perl -e 'rename(q({one}), q({two}))'"),
            17 if !format!("{two}/").starts_with(&format!("{one}/")) => {
                format!("tar cf - '{one}' | (mkdir -p '{two}' && cd '{two}' && tar xf -)")
            }
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
const TOGETHER: u64 = 10;

#[tokio::test]
async fn generated_scripts_rehearsed_and_applied_equal_a_direct_run() {
    let count: u64 = std::env::var("DRYAD_TEST_SCRIPTS").map_or(40, |text| text.parse().unwrap());
    for first in (1..=count).step_by(usize::try_from(TOGETHER).unwrap()) {
        let place = Place::quick();
        let direct = place.root().join("direct");
        fs::create_dir(&direct).unwrap();
        let (mut prepare, mut script) = (String::new(), String::new());
        for seed in first..first + TOGETHER {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            prepare.push_str(&format!("mkdir {seed}; (cd {seed}; {}\n)\n", dice.script(25)));
            script.push_str(&format!("(cd {seed}; {}\n)\n", dice.script(20)));
        }
        place.run_directly(&prepare, &place.work());
        place.run_directly(&format!("cp -a '{}/.' .", place.work().display()), &direct);
        let original = place.print();
        assert!(original == print_of(&direct) && original.len() > 50, "{}", original.len());
        place.run_directly(&script, &direct);
        let rehearsed = place.rehearse(&script).await;
        assert!(place.print() == original, "the rehearsal changed the tree");
        place.apply(&rehearsed).unwrap_or_else(|error| panic!("from seed {first}: {error}"));
        let (applied, wanted) = (place.print(), print_of(&direct));
        assert!(applied == wanted, "{}\n{script}", difference(&applied, &wanted));
        place.undo(&rehearsed).unwrap_or_else(|error| panic!("from seed {first}: undo: {error}"));
        assert!(place.print() == original, "undone: {}", difference(&place.print(), &original));
    }
}
