//! Which tools are active, which are found, and who decides.

use crate::named::{Named, names, numbered, registry};
use dryad_safety::deferred::{DEFAULT_THRESHOLD, Deferred, register_always_load};
use std::sync::Arc;

/// Sixteen tools, two of them of the core list.
fn sixteen() -> Deferred {
    let core = ["read", "bash"].map(Named::new);
    let others = (0..14).map(|number| Named::new(&format!("t{number}")).alias(&format!("old{number}")));
    Deferred::new(registry(core.into_iter().chain(others)), 0)
}

#[test]
fn a_threshold_of_zero_or_less_means_the_default() {
    for (given, used) in [(0, 15), (-1, 15), (i64::MIN, 15), (1, 1), (15, 15), (40, 40)] {
        assert_eq!(Deferred::new(numbered(0), given).threshold(), used);
    }
    assert_eq!(DEFAULT_THRESHOLD, 15);
}

#[test]
fn fifteen_tools_are_all_active() {
    let deferred = Deferred::new(numbered(15), 0);
    assert_eq!(deferred.active().len(), 15);
    assert!(!deferred.is_deferred("t3"));
    assert!(deferred.search("t3").is_empty(), "what is active need not be found");
}

#[test]
fn of_sixteen_only_those_always_loaded_are_active() {
    let deferred = sixteen();
    assert_eq!(names(&deferred.active()), ["read", "bash"]);
    assert!(deferred.is_deferred("t3") && deferred.is_deferred("old3"));
    assert!(!deferred.is_deferred("read") && !deferred.is_deferred("missing"));
    deferred.registry().unregister("t3");
    assert_eq!(deferred.active().len(), 15, "fifteen are left");
    assert!(!deferred.is_deferred("t4"));
}

#[test]
fn the_core_list_is_never_deferred() {
    let core = ["read", "write", "edit", "bash", "grep", "find", "ls", "ask", "todo_write", "resolve", "tool_search"];
    let deferred = Deferred::new(registry(core.into_iter().chain(["other"]).map(Named::new)), 1);
    assert_eq!(names(&deferred.active()), core);
}

#[test]
fn hidden_tools_count_and_are_active_and_are_not_found() {
    let tools = ["a", "b"].map(|name| Named::new(name).words("shelf", "")).into_iter();
    let deferred = Deferred::new(registry(tools.chain([Named::new("secret_shelf").hidden()])), 2);
    assert_eq!(names(&deferred.active()), ["secret_shelf"]);
    assert!(!deferred.is_deferred("secret_shelf"));
    assert_eq!(names(&deferred.search("shelf")), ["a", "b"]);
}

#[test]
fn activated_tools_join_in_the_order_of_registration() {
    let deferred = sixteen();
    assert!(deferred.activate("t9") && deferred.activate("old2") && deferred.activate("t9"));
    assert!(!deferred.activate("missing"));
    assert_eq!(names(&deferred.active()), ["read", "bash", "t2", "t9"]);
    assert!(!deferred.is_deferred("t2") && !deferred.is_deferred("old9"));
}

#[test]
fn reset_forgets_activations_and_nothing_else() {
    let deferred = sixteen().with_always_load(["t1"]);
    deferred.activate("t2");
    assert_eq!(names(&deferred.active()), ["read", "bash", "t1", "t2"]);
    deferred.reset();
    assert_eq!(names(&deferred.active()), ["read", "bash", "t1"]);
    assert!(deferred.is_deferred("t2"));
}

#[test]
fn an_activation_waits_for_a_tool_that_goes_and_comes_back() {
    let deferred = sixteen();
    deferred.registry().register(Arc::new(Named::new("host"))).unwrap();
    deferred.activate("host");
    deferred.registry().unregister("host");
    assert!(!names(&deferred.active()).contains(&"host") && !deferred.is_deferred("host"));
    deferred.registry().register(Arc::new(Named::new("host"))).unwrap();
    assert!(names(&deferred.active()).contains(&"host"));
}

#[test]
fn always_load_of_one_view_leaves_others_alone() {
    let registry = numbered(20);
    let one = Deferred::new(registry.clone(), 0).with_always_load(["t1"]).with_always_load(["t5".to_owned()]);
    let other = Deferred::new(registry.clone(), 0);
    assert_eq!((names(&one.active()), names(&other.active())), (vec!["t1", "t5"], vec![]));
    one.activate("t7");
    assert!(other.is_deferred("t7"), "neither do activations");
    assert!(Arc::ptr_eq(one.registry(), &registry));
}

#[test]
fn always_load_takes_aliases() {
    let tools = [Named::new("a").alias("old"), Named::new("b")];
    assert_eq!(names(&Deferred::new(registry(tools), 1).with_always_load(["old"]).active()), ["a"]);
}

#[test]
fn the_list_of_the_process_concerns_every_view() {
    let tools = ["scan_barcode_of_this_test", "other"].map(Named::new);
    let registry = registry(tools);
    let before = Deferred::new(registry.clone(), 1);
    assert!(before.active().is_empty() && before.is_deferred("scan_barcode_of_this_test"));
    register_always_load("scan_barcode_of_this_test");
    register_always_load("scan_barcode_of_this_test");
    let after = Deferred::new(registry, 1);
    for deferred in [before, after] {
        assert_eq!(names(&deferred.active()), ["scan_barcode_of_this_test"]);
        assert!(!deferred.is_deferred("scan_barcode_of_this_test"));
        deferred.reset();
        assert_eq!(names(&deferred.active()), ["scan_barcode_of_this_test"]);
    }
}

#[test]
fn the_active_list_is_the_same_one_until_something_changes() {
    let deferred = sixteen();
    let first = deferred.active();
    assert!(Arc::ptr_eq(&first, &deferred.active()));
    deferred.registry().register(Arc::new(Named::new("one_more"))).unwrap();
    let second = deferred.active();
    assert!(!Arc::ptr_eq(&first, &second));
    deferred.activate("t1");
    let third = deferred.active();
    assert!(!Arc::ptr_eq(&second, &third));
    deferred.activate("t1");
    assert!(Arc::ptr_eq(&third, &deferred.active()), "active already");
}

/// A view in which everything but `read` is deferred.
fn library() -> Deferred {
    let tools = [
        Named::new("read").words("mail notebook", "mail notebook"),
        Named::new("described").words("", "Sends mail to somebody."),
        Named::new("hinted").words("mail post", ""),
        Named::new("mail_send").words("", ""),
        Named::new("sendMail").words("mail", "Sends a mail."),
        Named::new("notebooks").words("jupyter cells", "Runs cells."),
        Named::new("mailbox").words("", ""),
        Named::new("format").words("", "Brings text into form."),
    ];
    Deferred::new(registry(tools), 1)
}

#[test]
fn names_count_more_than_hints_and_hints_more_than_descriptions() {
    // `mailbox` begins like the word and comes after the name that holds it to the letter.
    assert_eq!(names(&library().search("mail")), ["sendMail", "mail_send", "mailbox", "hinted", "described"]);
    assert_eq!(names(&library().search("Send MAIL")), ["sendMail", "mail_send", "mailbox", "hinted", "described"]);
}

#[test]
fn search_leaves_out_what_is_active() {
    let deferred = library().with_always_load(["hinted"]);
    deferred.activate("mail_send");
    assert_eq!(names(&deferred.search("mail")), ["sendMail", "mailbox", "described"]);
    deferred.reset();
    assert_eq!(names(&deferred.search("mail")), ["sendMail", "mail_send", "mailbox", "described"]);
}

#[test]
fn words_are_matched_whole_or_by_their_beginning() {
    assert_eq!(names(&library().search("notebook")), ["notebooks"]);
    assert_eq!(names(&library().search("cell running jupyters")), ["notebooks"]);
    assert!(library().search("rm").is_empty(), "not inside of `format`");
    assert!(library().search("ail").is_empty());
    assert!(library().search("no").is_empty(), "too short to be a beginning");
}

#[test]
fn words_that_say_nothing_find_nothing() {
    for query in ["", "  ", "a tool for the", "?!", "zzz"] {
        assert!(library().search(query).is_empty(), "{query}");
    }
    assert_eq!(names(&library().search("a tool to send a mail with")).len(), 5);
}

#[test]
fn other_scripts_are_found_inside_of_a_sentence() {
    let tools = [Named::new("scan").words("", "倉庫のバーコードを読み取る"), Named::new("other")];
    assert_eq!(names(&Deferred::new(registry(tools), 1).search("バーコード")), ["scan"]);
}

#[test]
fn at_most_eight_are_found_and_equals_keep_their_order() {
    let tools = (0..30).map(|number| Named::new(&format!("shelf_{number}")));
    let deferred = Deferred::new(registry(tools), 0);
    let expected: Vec<_> = (0..8).map(|number| format!("shelf_{number}")).collect();
    assert_eq!(names(&deferred.search("shelf")), expected);
    assert_eq!(names(&deferred.search("shelf 21"))[0], "shelf_21");
}
