//! What a call is planned to be; running it is tested with the pipeline.

use super::*;
use dryad_safety::plan::Effect;
use dryad_safety::spec::SafetyLevel;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

fn workdir() -> TempDir {
    let workdir = tempfile::tempdir().unwrap();
    for directory in ["src", "with space", "a&b", "-odd"] {
        fs::create_dir(workdir.path().join(directory)).unwrap();
    }
    fs::write(workdir.path().join("file"), "").unwrap();
    workdir
}

fn try_plan(settings: BashSettings, workdir: &Path, arguments: Value) -> Result<CommandSpec, String> {
    let arguments = arguments.as_object().cloned().unwrap();
    match BashTool::new(settings).plan(arguments, &PlanContext::new(workdir)) {
        Ok(Plan::Act(Effect::Command(spec))) => Ok(spec),
        Ok(other) => unreachable!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn plan(workdir: &Path, arguments: Value) -> CommandSpec {
    try_plan(BashSettings::default(), workdir, arguments).unwrap()
}

#[test]
fn a_bare_command_runs_in_the_working_directory_for_two_minutes() {
    let workdir = workdir();
    let spec = plan(workdir.path(), json!({"command": "make", "description": "Build it"}));
    assert_eq!((spec.command.as_str(), spec.timeout_seconds), ("make", 120));
    assert_eq!(spec.cwd.as_path(), workdir.path());
}

#[test]
fn timeouts_stay_within_an_hour() {
    let workdir = workdir();
    let timeout = |given: Value| plan(workdir.path(), json!({"command": "x", "timeout": given})).timeout_seconds;
    let given = [json!(0), json!(-5), json!(1.5), json!(30), json!("45"), json!(3600), json!(120_000), json!(null)];
    assert_eq!(given.map(timeout), [1, 1, 2, 30, 45, 3600, 3600, 120]);
    let error = try_plan(BashSettings::default(), workdir.path(), json!({"command": "x", "timeout": "soon"}));
    assert!(error.unwrap_err().starts_with("invalid arguments: /timeout: "));
}

#[test]
fn variables_come_in_three_layers() {
    let workdir = workdir();
    let environment = [("PAGER", "less"), ("STAGE", "settings"), ("ONLY", "settings")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let settings = BashSettings { environment, ..BashSettings::default() };
    let arguments = json!({"command": "x", "env": {"STAGE": "call", "PORT": 3000, "DEBUG": true}});
    let env = try_plan(settings, workdir.path(), arguments).unwrap().env;
    let value = |name: &str| env.get(name).map(String::as_str);
    assert_eq!(value("GIT_PAGER"), Some("cat"), "quiet by default");
    assert_eq!(value("CI"), Some("1"), "quiet by default");
    assert_eq!((value("PAGER"), value("ONLY")), (Some("less"), Some("settings")));
    assert_eq!((value("STAGE"), value("PORT"), value("DEBUG")), (Some("call"), Some("3000"), Some("true")));
}

#[test]
fn names_of_variables_are_checked() {
    let workdir = workdir();
    for name in ["", "1A", "A-B", "A B", "Ä", "A="] {
        let error = try_plan(BashSettings::default(), workdir.path(), json!({"command": "x", "env": {name: "1"}}));
        assert_eq!(error.unwrap_err(), format!("Invalid bash env name: {name}"));
    }
    assert!(plan(workdir.path(), json!({"command": "x", "env": {"_a1": "1"}})).env.contains_key("_a1"));
}

#[test]
fn the_directory_is_resolved_and_must_be_one() {
    let workdir = workdir();
    let cwd = |given: &str| {
        let spec = try_plan(BashSettings::default(), workdir.path(), json!({"command": "x", "cwd": given}));
        spec.map(|spec| spec.cwd.as_path().to_owned())
    };
    assert_eq!(cwd("src"), Ok(workdir.path().join("src")));
    assert_eq!(cwd("/"), Ok(PathBuf::from("/")));
    assert_eq!(cwd("~"), Ok(std::env::home_dir().unwrap()));
    assert_eq!(cwd(""), Ok(workdir.path().to_owned()));
    let inside = |name: &str| workdir.path().join(name).display().to_string();
    assert_eq!(cwd("gone"), Err(format!("Working directory does not exist: {}", inside("gone"))));
    assert_eq!(cwd("file"), Err(format!("Working directory is not a directory: {}", inside("file"))));
}

#[test]
fn a_leading_cd_becomes_the_directory() {
    let workdir = workdir();
    let lifted = |command: &str| {
        let spec = plan(workdir.path(), json!({"command": command}));
        let below = spec.cwd.as_path().strip_prefix(workdir.path()).unwrap().display().to_string();
        (below, spec.command)
    };
    let pair = |directory: &str, command: &str| (directory.to_owned(), command.to_owned());
    assert_eq!(lifted("cd src && make && make test"), pair("src", "make && make test"));
    assert_eq!(lifted("  cd \t./src&&make 2>&1 | tail; ls"), pair("src", "make 2>&1 | tail; ls"));
    assert_eq!(lifted("cd 'with space' && ls &> out"), pair("with space", "ls &> out"));
    assert_eq!(lifted("cd \"a&b\" && ls"), pair("a&b", "ls"));
    let whole = format!("cd {} && ls", workdir.path().join("src").display());
    assert_eq!(lifted(&whole), pair("src", "ls"));
    // With a directory given, the command is not touched.
    let spec = plan(workdir.path(), json!({"command": "cd src && ls", "cwd": "src"}));
    assert_eq!((spec.cwd.as_path(), spec.command.as_str()), (workdir.path().join("src").as_path(), "cd src && ls"));
}

#[test]
fn a_cd_that_may_mean_something_else_stays() {
    let workdir = workdir();
    let commands = [
        "cd gone && ls",
        "cd file && ls",
        "cd $HOME && ls",
        "cd \"$HOME\" && ls",
        "cd s* && ls",
        "cd - && ls",
        "cd -odd && ls",
        "cd src; ls",
        "cd src || ls",
        "cd src",
        "cd src &&",
        "cd src && server & ls",
        "cd src'x' && ls",
        "cd 'src'/ && ls",
        "cd src more && ls",
        "cd && ls",
        "cdsrc && ls",
        "(cd src && ls)",
        "cd ~nobody && ls",
        "cd '~' && ls",
    ];
    for command in commands {
        let spec = plan(workdir.path(), json!({"command": command}));
        assert_eq!((spec.command.as_str(), spec.cwd.as_path()), (command, workdir.path()));
    }
}

#[test]
fn a_prefix_stands_before_the_command() {
    let workdir = workdir();
    let settings = BashSettings { command_prefix: Some("set -e".to_owned()), ..BashSettings::default() };
    let spec = try_plan(settings, workdir.path(), json!({"command": "cd src && ls"})).unwrap();
    assert_eq!(spec.command, "set -e\nls");
}

#[test]
fn the_shell_is_the_one_asked_for_or_bash_or_sh() {
    let workdir = workdir();
    assert_eq!(shell::find(Some(Path::new("/opt/zsh")), None), "/opt/zsh");
    assert!(Path::new("/bin/bash").exists(), "the tests need bash at its usual place");
    assert_eq!(shell::find(None, None), "/bin/bash");
    let program = workdir.path().join("src/bash");
    let search = format!("src:/nowhere:{}", workdir.path().join("src").display());
    let found = || shell::on_path("bash", OsStr::new(&search));
    fs::write(&program, "").unwrap();
    assert_eq!(found(), None, "it is not executable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found(), Some(program));
}

#[test]
fn the_shell_is_looked_for_once() {
    let workdir = workdir();
    let tool = BashTool::new(BashSettings::default());
    tool.shell.set("/the/first".to_owned()).unwrap();
    let call = json!({"command": "ls"}).as_object().cloned().unwrap();
    let planned = tool.plan(call, &PlanContext::new(workdir.path())).unwrap();
    assert!(matches!(planned, Plan::Act(Effect::Command(spec)) if spec.shell == "/the/first"));
}

#[test]
fn it_declares_what_it_is() {
    let tool = BashTool::new(BashSettings::default());
    let spec = tool.spec();
    assert_eq!(spec.metadata.permission_class, PermissionClass::Bash);
    assert!(spec.metadata.destructive && !spec.metadata.concurrency_safe && !spec.metadata.read_only);
    assert_eq!(spec.metadata.audit_operation, "execute");
    assert_eq!(spec.capability.affected_resources, ["process", "file", "network"]);
    assert_eq!(spec.capability.safety_level(), SafetyLevel::Unprotected);
    for level in [SafetyLevel::Reversible, SafetyLevel::Previewable] {
        let tool = BashTool::new(BashSettings { level, ..BashSettings::default() });
        let capability = &tool.spec().capability;
        assert_eq!((capability.safety_level(), capability.reversible), (level, true));
        assert_eq!(capability.affected_resources, ["process", "file", "network"]);
    }
    let schema: Value = serde_json::from_str(spec.parameters.get()).unwrap();
    assert_eq!(schema["required"], json!(["command"]));
    assert_eq!(schema["properties"]["env"]["additionalProperties"], json!({"type": "string"}));
    assert!(schema["properties"]["description"].is_object());
}
