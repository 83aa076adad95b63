//! Commands that are known to only read: the tree is seen as it is, without a layer.

use super::place::Place;
use dryad_effects::rehearse::{Limit, OutsideKind, RehearsalRequest, Rung};
use std::fs;
use std::os::unix::fs::MetadataExt as _;

const COMMAND: &str = "stat -c %d . file; cat file; for it in 'tee file' 'mkdir made' 'rm file' 'touch file'; do \
                       echo new | $it 2>/dev/null || echo refused; done; echo x > ../beside";

#[tokio::test]
async fn a_tree_that_is_only_read_is_seen_as_it_is_and_cannot_be_changed() {
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        fs::write(place.at("file"), "old\n").unwrap();
        let (before, device) = (place.print(), fs::metadata(place.work()).unwrap().dev());
        let request = RehearsalRequest {
            unlayered: vec![place.work()],
            highest: rung,
            lowest: rung,
            ..place.request(&format!("({COMMAND}) 2>&1 || true"))
        };
        let rehearsed = place.start(&request).await.unwrap();
        let text = &rehearsed.outcome.output.text;
        let refused = "new\nrefused\nrefused\nrefused\nrefused\n";
        assert!(text.starts_with(&format!("{device}\n{device}\nold\n{refused}")), "{rung}: {text}");
        assert!(text.contains("Read-only file system"), "what is not granted neither: {text}");
        assert!(rehearsed.changes.is_empty() && !rehearsed.can_go_on());
        let reason = "the command is proven to only read".to_owned();
        assert_eq!(rehearsed.limits, [Limit::ReadOnly(place.work(), reason)]);
        assert_eq!(place.print(), before);
    }
}

#[tokio::test]
async fn the_layer_of_a_home_around_it_does_not_cover_it() {
    let place = Place::new();
    fs::write(place.at("file"), "old\n").unwrap();
    let (before, device) = (place.print(), fs::metadata(place.work()).unwrap().dev());
    let request =
        RehearsalRequest { unlayered: vec![place.work()], watched: vec![place.root()], ..place.request(COMMAND) };
    let rehearsed = place.start(&request).await.unwrap();
    let text = &rehearsed.outcome.output.text;
    assert!(text.starts_with(&format!("{device}\n{device}\nold\n")), "{text}");
    assert_eq!(text.matches("refused").count(), 4, "{text}");
    let written: Vec<_> = rehearsed.outside_writes.iter().map(|write| (write.path.as_path(), write.kind)).collect();
    assert_eq!(written, [(place.root().join("beside").as_path(), OutsideKind::Created)]);
    assert!(!place.root().join("beside").exists());
    assert!(rehearsed.changes.is_empty());
    assert_eq!(place.print(), before);
}
