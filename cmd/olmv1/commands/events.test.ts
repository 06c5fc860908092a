import { expect, test } from "vitest";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { type Answer, statusAnswer } from "../../../test/support/loopbackApi.ts";
import { LoopbackCluster } from "../../../test/support/loopbackCluster.ts";
import { runCli } from "../../../test/support/runCli.ts";

const toEvent = (name: string) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "default", uid: name, resourceVersion: "2" },
  type: "Normal",
  reason: "Installed",
});

const toList = (...names: string[]): Answer => ({ json: { items: names.map(toEvent), metadata: { resourceVersion: "1" } } });
const toLine = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

/** Writes an Event, and then breaks the connection. */
const breakAfter =
  (name: string): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(toLine("ADDED", toEvent(name)), () => response.destroy());
  };

interface Answers {
  readonly lists?: readonly Answer[];
  readonly watches?: readonly Answer[];
}

/** Runs `events -w` with an answer for each list and watch, and stops it at the first watch without an answer. */
async function runWatch(output: string, { lists = [toList("old")], watches = [{ text: toLine("ADDED", toEvent("new")) }] }: Answers) {
  const stop = new AbortController();
  const [nextList, nextWatch] = [lists.values(), watches.values()];
  await using cluster = await LoopbackCluster.start(({ url }) => {
    if (!url.startsWith("/api/v1/events")) return undefined;
    if (!url.includes("watch=true")) return nextList.next().value;
    const answer = nextWatch.next().value;
    if (answer === undefined) stop.abort(new Error("stopped"));
    return answer ?? { text: "" };
  });
  return await runCli(["events", "p", "-w", "-o", output, "--kubeconfig", cluster.kubeconfig], { signal: stop.signal });
}

/** Prints an Event from the list and one from the watch, then stops. */
async function watchEvents(output: string): Promise<string> {
  return (await runWatch(output, {})).out;
}

const NAMES = "jsonpath={.metadata.name};";

test("events -w continues with the next Event when the connection breaks", async () => {
  const { out, err } = await runWatch(NAMES, { watches: [breakAfter("first"), { text: toLine("ADDED", toEvent("second")) }] });
  expect(out).toBe("old;first;second;");
  expect(err).toMatch(/^cannot watch Events: .*\. olmv1 tries again until you press Ctrl-C\n$/);
});

test("events -w prints the Events of the gap once when the resourceVersion has expired", async () => {
  const expired = toLine("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
  const lists = [toList("old"), toList("old", "new", "gap")];
  const watches = [{ text: toLine("ADDED", toEvent("new")) + expired }, { text: toLine("ADDED", toEvent("last")) }];
  expect(await runWatch(NAMES, { lists, watches })).toMatchObject({ out: "old;new;gap;last;", err: "" });
});

test("events -w ends with an error when the user may not watch Events", async () => {
  const { code, err } = await runWatch(NAMES, { watches: [statusAnswer(403, "Forbidden", "events is forbidden")] });
  expect(code).not.toBe(0);
  expect(err).toContain("events is forbidden");
});

test("events -w waits between watches when the API server ends each at once", async () => {
  let watches = 0;
  await using cluster = await LoopbackCluster.start(({ url }) => {
    if (!url.includes("watch=true")) return undefined;
    watches++;
    return { text: "" };
  });
  const args = ["events", "p", "-w", "--kubeconfig", cluster.kubeconfig];
  await runCli(args, { signal: AbortSignal.timeout(600) });
  expect(watches).toBeGreaterThan(1);
  expect(watches).toBeLessThanOrEqual(4);
});

test("events -w -o json prints a JSON document for each Event", async () => {
  const documents = (await watchEvents("json")).split(/(?<=^\}\n)/m).map((text) => JSON.parse(text) as object);
  expect(documents).toEqual([toEvent("old"), toEvent("new")]);
});

test("events -w -o yaml prints a YAML document for each Event", async () => {
  expect(parseYamlDocuments(await watchEvents("yaml"))).toEqual([toEvent("old"), toEvent("new")]);
});

test("events -w -o jsonpath applies the template to each Event", async () => {
  expect(await watchEvents("jsonpath={.metadata.name};")).toBe("old;new;");
});

test("events -w prints a table, and a line for each new Event", async () => {
  expect(await watchEvents("text")).toMatch(/^AGE +TYPE +REASON +MESSAGE\n\S+ +Normal +Installed\s*\n\S+ +Normal +Installed\s*\n$/);
});
