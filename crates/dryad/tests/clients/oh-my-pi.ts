// Drives dryad with the RpcClient of oh-my-pi, as published: prompts, tools, steering, abort, host tools,
// bash, sessions, branches, retry, compaction. Exits with 0 when the client finds everything it expects.
//
//   OH_MY_PI=directory DRYAD=program bun oh-my-pi.ts     in a directory with story.json and hello.txt
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

const modes = `${process.env.OH_MY_PI}/node_modules/@oh-my-pi/pi-coding-agent/src/modes/rpc/rpc-client.ts`;
const { RpcClient } = await import(modes);
const client = new RpcClient({ command: [process.env.DRYAD!], args: ["--script", "story.json"] });
const texts = (events: any[]) =>
  events.filter((event) => event.type === "message_end" && event.message.role === "assistant")
    .map((event) => event.message.content.filter((block: any) => block.type === "text").map((block: any) => block.text).join(""));
const seen = (type: string, when: (event: any) => boolean = () => true) =>
  new Promise<any>((resolve) => {
    const stop = client.onSessionEvent((event: any) => {
      if (event.type === type && when(event)) { stop(); resolve(event); }
    });
  });

await client.start();

// A prompt, and what is left of it.
let events = await client.promptAndWait("hi");
assert.deepEqual(texts(events), ["hello world"]);
assert.equal(await client.getLastAssistantText(), "hello world");
assert.equal((await client.getMessages()).length, 2);

// A tool.
events = await client.promptAndWait("read it");
assert.match(events.find((event: any) => event.type === "tool_execution_end").result.content[0].text, /alpha/);

// Steering and a follow-up while a tool runs.
const running = client.collectEvents();
const started = seen("tool_execution_start");
await client.prompt("work");
await started;
await client.steer("turn");
await client.followUp("and then");
let state = await client.getState();
assert.equal(state.isStreaming, true);
assert.equal(state.queuedMessageCount, 2);
writeFileSync("go", "");
assert.deepEqual(texts(await running), ["", "steered", "followed"]);

// Abort, then another prompt in its place.
const growing = seen("message_update", (event) => event.message.content[0]?.text === "one two three");
await client.prompt("never");
await growing;
const instead = seen("message_end", (event) => event.message.content[0]?.text === "after the abort");
await client.abortAndPrompt("go on");
await instead;
await client.getState();

// Retry, given up.
const waiting = seen("auto_retry_start");
const given = seen("auto_retry_end");
await client.prompt("fail");
assert.equal((await waiting).attempt, 1);
await client.abortRetry();
assert.equal((await given).finalError, "Retry cancelled");
await client.setAutoRetry(false);

// Commands of the user.
const bash = await client.bash("echo hi; exit 3");
assert.deepEqual([bash.output, bash.exitCode, bash.totalLines], ["hi\n", 3, 2]);
const long = client.bash("echo begin; exec sleep 30");
await Bun.sleep(200);
await client.abortBash();
assert.equal((await long).cancelled, true);

// Compaction: refused for a short conversation, in the client's own time.
await assert.rejects(client.compact(), /short|nothing/i);

// What hangs is aborted.
const hanging = seen("message_update");
await client.prompt("never again");
await hanging;
await client.abort();

// Sessions.
state = await client.getState();
assert.ok((await client.getSessionStats()).userMessages >= 6);
assert.ok((await client.exportHtml("out.html")).path.endsWith("out.html"));
const before = await client.getMessages();
assert.deepEqual(await client.newSession(), { cancelled: false });
assert.equal((await client.getMessages()).length, 0);
assert.deepEqual(await client.switchSession(state.sessionFile), { cancelled: false });
assert.equal((await client.getMessages()).length, before.length);
const said = await client.getBranchMessages();
assert.equal(said[1].text, "read it");
assert.deepEqual(await client.branch(said[1].entryId), { text: "read it", cancelled: false });
assert.deepEqual(texts(await client.promptAndWait("differently")), ["in the branch"]);

// A tool of the host, with an update on the way.
const names = await client.setCustomTools([{
  name: "echo_host",
  description: "Echo",
  parameters: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
  execute: async (params: any, context: any) => {
    context.sendUpdate("working");
    return `said ${params.message}`;
  },
}]);
assert.deepEqual(names, ["echo_host"]);
events = await client.promptAndWait("ask the host");
assert.deepEqual(texts(events), ["", "the host said so"]);
assert.equal(events.find((event: any) => event.type === "tool_execution_end").result.content[0].text, "said hello");
assert.ok(events.some((event: any) => event.type === "tool_execution_update"));

// Models and thinking.
assert.ok((await client.getAvailableModels()).some((model: any) => model.id === "demo"));
await assert.rejects(client.setModel("nowhere", "ghost"), /Model not found: nowhere\/ghost/);
assert.equal(await client.cycleThinkingLevel(), null);

await client.stop();
console.log("oh-my-pi: everything is as its client expects");
process.exit(0);
