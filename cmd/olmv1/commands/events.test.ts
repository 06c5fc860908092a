import { expect, test } from "vitest";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { LoopbackCluster } from "../../../test/support/loopbackCluster.ts";
import { runCli } from "../../../test/support/runCli.ts";

const toEvent = (name: string) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "default", resourceVersion: "2" },
  type: "Normal",
  reason: "Installed",
});

/** Prints an Event from the list and one from the watch, then stops. */
async function watchEvents(output: string): Promise<string> {
  const stop = new AbortController();
  await using cluster = await LoopbackCluster.start(({ url }) => {
    if (!url.startsWith("/api/v1/events")) return undefined;
    if (!url.includes("watch=true")) return { json: { items: [toEvent("old")], metadata: { resourceVersion: "1" } } };
    if (cluster.api.log.filter((line) => line.includes("watch=true")).length > 1) stop.abort(new Error("stopped")); // the first watch has ended
    return { text: `${JSON.stringify({ type: "ADDED", object: toEvent("new") })}\n` };
  });
  const { out } = await runCli(["events", "p", "-w", "-o", output, "--kubeconfig", cluster.kubeconfig], { signal: stop.signal });
  return out;
}

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
