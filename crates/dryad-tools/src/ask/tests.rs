//! A user who answers by script.

use super::*;
use dryad_safety::dialog::DialogAnswer;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Answers one after the other, and remembers what was asked.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<DialogAnswer>>,
    asked: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = DialogAnswer>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
    }

    fn next(&self, asked: String) -> BoxFuture<'_, DialogAnswer> {
        self.asked.lock().unwrap().push(asked);
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        Box::pin(std::future::ready(answer))
    }
}

impl UserInterface for Scripted {
    fn select<'a>(
        &'a self,
        title: &'a str,
        options: &'a [String],
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer> {
        let seconds = timeout.map_or(0, |timeout| timeout.as_secs());
        self.next(format!("{title} {} {seconds}", options.join("|")))
    }

    fn input<'a>(&'a self, title: &'a str) -> BoxFuture<'a, DialogAnswer> {
        self.next(format!("{title} …"))
    }
}

fn given(text: &str) -> DialogAnswer {
    DialogAnswer::Given(text.to_owned())
}

fn colour(multi: bool) -> Value {
    json!({"id": "colour", "question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}],
        "recommended": 1, "multi": multi})
}

async fn ask(user: &Arc<Scripted>, questions: Value) -> Result<ToolResult, ToolError> {
    let user: Arc<dyn UserInterface> = user.clone();
    let spec = ask_tool(None, AskSettings::default());
    let spec = dryad_safety::tool::Tool::spec(&spec).clone();
    let tool = Ask { user: Some(user), settings: AskSettings::default(), spec };
    let arguments = json!({"questions": questions}).as_object().cloned().unwrap();
    Ok(tool.execute(arguments, &PlanContext::new("/")).await?.result)
}

fn text(result: &ToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

#[tokio::test]
async fn one_option_is_chosen() {
    let user = Scripted::new([given("blue (Recommended)")]);
    let result = ask(&user, json!([colour(false)])).await.unwrap();
    assert_eq!(text(&result), "User chose: blue");
    assert_eq!(*user.asked.lock().unwrap(), ["Which colour? red|blue (Recommended)|Other (type your own) 30"]);
    let expected = json!({"questions": [{"id": "colour", "question": "Which colour?", "options": ["red", "blue"],
        "multi": false, "selectedOptions": ["blue"]}]});
    assert_eq!(result.details, Some(expected));
}

#[tokio::test]
async fn an_answer_can_be_typed() {
    let user = Scripted::new([given("Other (type your own)"), given("green")]);
    assert_eq!(text(&ask(&user, json!([colour(false)])).await.unwrap()), "User answered: green");
    let host = Scripted::new([given("violet")]);
    assert_eq!(text(&ask(&host, json!([colour(false)])).await.unwrap()), "User answered: violet");
}

#[tokio::test]
async fn several_options_are_switched_on_and_off() {
    let user = Scripted::new([given("[ ] red"), given("[ ] blue (Recommended)"), given("[x] red"), given("Done")]);
    assert_eq!(text(&ask(&user, json!([colour(true)])).await.unwrap()), "User chose: blue");
    let asked = user.asked.lock().unwrap();
    assert_eq!(asked[2], "Which colour? [x] red|[x] blue (Recommended)|Other (type your own)|Done 0");
}

#[tokio::test]
async fn without_an_answer_the_recommended_option_is_taken() {
    let user = Scripted::new([DialogAnswer::TimedOut]);
    let result = ask(&user, json!([colour(false)])).await.unwrap();
    assert_eq!(text(&result), "Nobody answered in time; taken: blue");
}

#[tokio::test]
async fn several_questions_have_a_line_each() {
    let size = json!({"id": "size", "question": "Which size?", "options": [{"label": "S"}]});
    let user = Scripted::new([given("red"), given("S")]);
    assert_eq!(text(&ask(&user, json!([colour(false), size])).await.unwrap()), "colour: red\nsize: S");
}

#[tokio::test]
async fn not_wanting_to_answer_ends_the_run() {
    let user = Scripted::new([DialogAnswer::Cancelled]);
    let result = ask(&user, json!([colour(false)])).await.unwrap();
    assert_eq!((text(&result), result.is_error), (CANCELLED, true));
    assert_eq!(result.details, Some(json!({"endsRun": true})));
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_says_so() {
    let spec = dryad_safety::tool::Tool::spec(&ask_tool(None, AskSettings::default())).clone();
    let tool = Ask { user: None, settings: AskSettings::default(), spec };
    let arguments = json!({"questions": [colour(false)]}).as_object().cloned().unwrap();
    let Err(error) = tool.execute(arguments, &PlanContext::new("/")).await else { panic!("somebody answered") };
    assert!(error.to_string().starts_with("ask needs an interactive session"), "{error}");
}
