//! The registry: names, aliases, order, generations, and many threads at once.

use crate::named::{Named, names, numbered, registry};
use dryad_safety::deferred::Deferred;
use dryad_safety::registry::{DuplicateTool, Registry};
use dryad_safety::spec::Metadata;
use dryad_safety::tool::Tool;
use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn name(tool: Option<Arc<dyn Tool>>) -> Option<String> {
    tool.map(|tool| tool.spec().name.clone())
}

#[test]
fn a_tool_is_found_by_its_name_and_by_each_alias() {
    let registry = registry([Named::new("read").alias("view").alias("cat"), Named::new("write")]);
    for known in ["read", "view", "cat"] {
        assert_eq!(name(registry.get(known)).as_deref(), Some("read"), "{known}");
    }
    assert!(registry.get("Read").is_none() && registry.get("").is_none());
    assert_eq!(registry.names(), ["read", "write"]);
    assert_eq!(registry.count(), 2);
}

#[test]
fn metadata_is_told_by_name_and_alias_and_not_for_unknown_tools() {
    let registry = registry([Named::new("read").alias("view"), Named::new("plain")]);
    let expected = Metadata { aliases: vec!["view".to_owned()], ..Metadata::default() };
    assert_eq!(registry.metadata_for("read"), Some(expected.clone()));
    assert_eq!(registry.metadata_for("view"), Some(expected));
    assert_eq!(registry.metadata_for("plain"), Some(Metadata::default()));
    assert_eq!(registry.metadata_for("missing"), None);
}

#[test]
fn a_name_or_alias_that_is_taken_is_refused_and_changes_nothing() {
    let registry = registry([Named::new("read").alias("view")]);
    let before = registry.generation();
    let cases = [
        (Named::new("read"), "read"),
        (Named::new("view"), "view"),
        (Named::new("other").alias("read"), "read"),
        (Named::new("other").alias("fine").alias("view"), "view"),
    ];
    for (tool, taken) in cases {
        let error = registry.register(Arc::new(tool)).unwrap_err();
        assert_eq!(error, DuplicateTool { name: taken.to_owned() });
        assert_eq!(error.to_string(), format!("a tool named `{taken}` exists already"));
    }
    assert_eq!((registry.names(), registry.generation()), (vec!["read".to_owned()], before));
    assert!(registry.get("fine").is_none(), "no part of a refused tool is left");
}

#[test]
fn a_tool_may_list_its_own_name_as_an_alias() {
    let registry = registry([Named::new("read").alias("read").alias("view").alias("view")]);
    assert!(registry.unregister("read"));
    assert!(registry.get("read").is_none() && registry.get("view").is_none());
}

#[test]
fn a_tool_goes_by_its_name_and_takes_its_aliases_with_it() {
    let registry = registry([Named::new("read").alias("view"), Named::new("write")]);
    assert!(!registry.unregister("view"), "not by an alias");
    assert!(registry.unregister("read"));
    assert!(!registry.unregister("read"), "there is none any more");
    assert!(registry.get("read").is_none() && registry.get("view").is_none());
    registry.register(Arc::new(Named::new("view"))).unwrap();
    assert_eq!(registry.names(), ["write", "view"]);
}

#[test]
fn lists_keep_the_order_of_registration() {
    let registry = registry(["c", "a", "b", "d"].map(Named::new));
    assert_eq!(names(&registry.all()), ["c", "a", "b", "d"]);
    registry.unregister("a");
    registry.register(Arc::new(Named::new("a"))).unwrap();
    assert_eq!(names(&registry.all()), ["c", "b", "d", "a"]);
    assert_eq!(registry.names(), ["c", "b", "d", "a"]);
}

#[test]
fn a_filter_takes_names_and_aliases_and_gives_each_tool_once() {
    let registry = registry([Named::new("c"), Named::new("a").alias("old"), Named::new("b").hidden()]);
    assert_eq!(names(&registry.filter(&["old", "missing", "a", "c"])), ["c", "a"]);
    assert_eq!(names(&registry.filter(&["b".to_owned()])), ["b"]);
    assert_eq!(names(&registry.filter::<&str>(&[])), Vec::<&str>::new());
}

#[test]
fn only_a_change_raises_the_generation_and_makes_a_new_list() {
    let registry = registry([Named::new("a")]);
    let (first, list) = registry.snapshot();
    assert!(registry.register(Arc::new(Named::new("a"))).is_err());
    assert!(!registry.unregister("b"));
    assert!(Arc::ptr_eq(&list, &registry.all()));
    assert_eq!(registry.generation(), first);
    registry.register(Arc::new(Named::new("b"))).unwrap();
    assert_eq!(registry.generation(), first + 1);
    registry.unregister("a");
    assert_eq!(registry.generation(), first + 2);
    assert_eq!((names(&list), names(&registry.all())), (vec!["a"], vec!["b"]));
}

/// What several threads do to one registry, and what must hold meanwhile.
struct Traffic {
    registry: Registry,
    /// How many threads believe that the tool `shared` is theirs.
    owners: AtomicUsize,
    changes: AtomicU64,
    over: AtomicBool,
}

impl Traffic {
    /// Registers and unregisters a tool that all threads want, and one of this thread alone.
    fn change(&self, thread: usize) {
        let own = format!("own{thread}");
        for _ in 0..1500 {
            self.registry.register(Arc::new(Named::new(&own).alias(&format!("old_{own}")))).unwrap();
            assert_eq!(name(self.registry.get(&format!("old_{own}"))).as_deref(), Some(own.as_str()));
            self.changes.fetch_add(2, Ordering::Relaxed);
            if self.registry.register(Arc::new(Named::new("shared").alias("old_shared"))).is_ok() {
                assert_eq!(self.owners.fetch_add(1, Ordering::SeqCst), 0, "two tools have one name");
                assert!(self.registry.get("shared").is_some());
                self.changes.fetch_add(2, Ordering::Relaxed);
                self.owners.fetch_sub(1, Ordering::SeqCst);
                assert!(self.registry.unregister("shared"));
            }
            assert!(self.registry.unregister(&own));
            assert!(self.registry.get(&own).is_none());
        }
    }

    /// Looks until the others are done; whatever is seen is a state the registry was in.
    fn look(&self) {
        let mut last = 0;
        while !self.over.load(Ordering::Acquire) {
            assert!(self.registry.get("fixed").is_some(), "a tool that stays is always found");
            let found = self.registry.get("old_shared");
            assert!(found.is_none_or(|tool| tool.spec().name == "shared"));
            let (generation, all) = self.registry.snapshot();
            let seen = names(&all);
            assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "{seen:?}");
            assert_eq!(seen[0], "fixed");
            assert!(generation >= last);
            last = generation;
        }
    }
}

#[test]
fn threads_that_come_and_go_never_see_two_tools_of_one_name() {
    let traffic = Traffic {
        registry: Registry::default(),
        owners: AtomicUsize::new(0),
        changes: AtomicU64::new(1),
        over: AtomicBool::new(false),
    };
    traffic.registry.register(Arc::new(Named::new("fixed"))).unwrap();
    std::thread::scope(|scope| {
        let lookers = [(); 2].map(|()| scope.spawn(|| traffic.look()));
        let traffic = &traffic;
        let changers = [0, 1, 2, 3].map(|thread| scope.spawn(move || traffic.change(thread)));
        let changed: Vec<_> = changers.into_iter().map(|thread| thread.join()).collect();
        traffic.over.store(true, Ordering::Release);
        lookers.into_iter().for_each(|thread| thread.join().unwrap());
        changed.into_iter().for_each(|result| result.unwrap());
    });
    assert_eq!(traffic.registry.names(), ["fixed"]);
    assert_eq!(traffic.registry.generation(), traffic.changes.into_inner());
}

/// The cost of one round, in the best of many batches: what else the machine does shall not count.
fn cost(mut round: impl FnMut()) -> Duration {
    let batch = |_| {
        let begun = Instant::now();
        (0..100).for_each(|_| round());
        begun.elapsed() / 100
    };
    (0..50).map(batch).min().unwrap()
}

#[test]
fn lookup_and_active_list_of_a_thousand_tools_take_microseconds() {
    let registry = numbered(1000);
    let deferred = Deferred::new(registry.clone(), 0).with_always_load(["t1", "t2"]);
    let everything = Deferred::new(registry.clone(), 1000);
    let took = cost(|| {
        black_box(registry.get(black_box("t777")));
        black_box(deferred.is_deferred(black_box("t778")));
        black_box(deferred.active());
        black_box(everything.active());
        black_box(registry.all());
    });
    println!("lookup and active lists of 1,000 tools: {took:?}");
    assert!(took <= Duration::from_micros(20), "{took:?}");
}
