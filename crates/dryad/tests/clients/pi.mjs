// Drives dryad with the RpcClient of Pi, as published: prompts, tools, steering, abort, models, bash,
// sessions, branches, retry, compaction. Exits with 0 when the client finds everything it expects.
//
//   PI=directory DRYAD=program node pi.mjs     in a directory with story.json and hello.txt
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const modes = `${process.env.PI}/node_modules/@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js`;
const { RpcClient } = await import(pathToFileURL(modes));
const cliPath = new URL("program.mjs", import.meta.url).pathname;
const client = new RpcClient({ cliPath, args: ["--script", "story.json"] });
const kinds = (events) => events.map((event) => event.type);
const texts = (events) =>
  events.filter((event) => event.type === "message_end" && event.message.role === "assistant")
    .map((event) => event.message.content.filter((block) => block.type === "text").map((block) => block.text).join(""));
const seen = (type, when = () => true) =>
  new Promise((resolve) => {
    const stop = client.onEvent((event) => {
      if (event.type === type && when(event)) { stop(); resolve(event); }
    });
  });

await client.start();

// A prompt, and what is left of it.
let events = await client.promptAndWait("hi");
assert.equal(kinds(events)[kinds(events).indexOf("agent_start") + 1], "turn_start");
assert.deepEqual(texts(events), ["hello world"]);
const deltas = events.filter((event) => event.assistantMessageEvent?.type === "text_delta");
assert.equal(deltas.map((event) => event.assistantMessageEvent.delta).join(""), "hello world");
assert.equal(await client.getLastAssistantText(), "hello world");
assert.equal((await client.getMessages()).length, 2);

// A tool.
events = await client.promptAndWait("read it");
const end = events.find((event) => event.type === "tool_execution_end");
assert.equal(end.isError, false);
assert.match(end.result.content[0].text, /alpha/);

// Steering and a follow-up while a tool runs.
await client.setSteeringMode("one-at-a-time");
await client.setFollowUpMode("all");
const running = client.collectEvents();
const started = seen("tool_execution_start");
await client.prompt("work");
await started;
await client.steer("turn");
await client.followUp("and then");
let state = await client.getState();
assert.equal(state.isStreaming, true);
assert.equal(state.pendingMessageCount, 2);
writeFileSync("go", "");
assert.deepEqual(texts(await running), ["", "steered", "followed"]);

// Abort in the middle of an answer.
const aborted = client.collectEvents();
const growing = seen("message_update", (event) => event.message.content[0]?.text === "one two three");
await client.prompt("never");
await growing;
await client.abort();
assert.equal((await aborted).at(-1).messages.at(-1).stopReason, "aborted");
assert.deepEqual(texts(await client.promptAndWait("go on")), ["after the abort"]);

// Models and thinking.
const models = await client.getAvailableModels();
assert.ok(models.some((model) => model.provider === "scripted" && model.id === "demo"));
assert.equal((await client.setModel("scripted", "story.json")).id, "story.json");
await assert.rejects(client.setModel("nowhere", "ghost"), /Model not found: nowhere\/ghost/);
assert.equal((await client.cycleModel()).isScoped, false);
await client.setModel("scripted", "story.json");
await client.setThinkingLevel("off");
assert.equal(await client.cycleThinkingLevel(), null);

// Retry, given up.
await client.setAutoRetry(true);
const waiting = seen("auto_retry_start");
const given = seen("auto_retry_end");
await client.prompt("fail");
assert.equal((await waiting).attempt, 1);
await client.abortRetry();
assert.equal((await given).finalError, "Retry cancelled");

// Commands of the user.
const bash = await client.bash("echo hi; exit 3");
assert.equal(bash.output, "hi\n");
assert.equal(bash.exitCode, 3);
const long = client.bash("echo begin; exec sleep 30");
await seen("bash_update");
await client.abortBash();
assert.equal((await long).cancelled, true);

// Compaction: refused for a short conversation, in the client's own time.
await client.setAutoCompaction(false);
await assert.rejects(client.compact(), /short|nothing/i);

// Sessions.
await client.setSessionName("my work");
state = await client.getState();
assert.equal(state.sessionName, "my work");
assert.ok(state.sessionFile.endsWith(".jsonl"));
const stats = await client.getSessionStats();
assert.equal(stats.sessionId, state.sessionId);
assert.ok(stats.userMessages >= 6);
assert.ok((await client.exportHtml("out.html")).path.endsWith("out.html"));
const before = await client.getMessages();
assert.deepEqual(await client.newSession(state.sessionFile), { cancelled: false });
assert.equal((await client.getMessages()).length, 0);
assert.deepEqual(await client.switchSession(state.sessionFile), { cancelled: false });
assert.equal((await client.getMessages()).length, before.length);
const said = await client.getForkMessages();
assert.equal(said[1].text, "read it");
assert.deepEqual(await client.fork(said[1].entryId), { text: "read it", cancelled: false });
assert.equal((await client.getMessages()).length, 2);
assert.deepEqual(await client.clone(), { cancelled: false });
assert.deepEqual(await client.getCommands(), []);

// What hangs is ended with the client.
const hanging = seen("message_update");
await client.prompt("never again");
await hanging;
const stopped = Date.now();
await client.stop();
assert.ok(Date.now() - stopped < 950, "the program must end by itself within a second");
console.log("pi: everything is as its client expects");
