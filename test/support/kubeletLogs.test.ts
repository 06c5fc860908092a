import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { openConnections } from "../../pkg/http/connections.ts";
import { type ContainerLog, KubeletLogs } from "./kubeletLogs.ts";

const POD: KubeObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers: [{ name: "c" }] } };
const START = Date.now() - 10_000;
/** Three lines of the past, one of the near future, then the end. */
const LOG: ContainerLog = {
  line: (index) => (index < 4 ? { time: new Date(index < 3 ? START + index * 1_000 : Date.now()), text: `line ${index}` } : undefined),
};

let logs: KubeletLogs;
const connections = openConnections({ tls: { rejectUnauthorized: false }, keepAliveMs: 1_000 });
beforeAll(async () => {
  logs = await KubeletLogs.start({
    getPod: (namespace, name) => (namespace === "n" && name === "p" ? POD : undefined),
    getLog: (_pod, _container, previous) => (previous ? undefined : LOG),
  });
});
afterAll(async () => {
  await connections.destroy();
  await logs[Symbol.asyncDispose]();
});

async function get(path: string): Promise<string> {
  const { statusCode, body } = await connections.request(new URL(`https://127.0.0.1:${logs.port}/containerLogs/${path}`), {
    method: "GET",
  });
  let text = "";
  for await (const chunk of body) text += String(chunk);
  return `${statusCode} ${text}`;
}

test.for<[query: string, answer: string]>([
  ["n/p/c?tailLines=2", "200 line 2\nline 3\n"],
  ["n/p/c?tailLines=0", "200 "],
  ["n/p/c?limitBytes=8", "200 line 0\nl"],
  ["n/p/c?sinceSeconds=9&follow=true", "200 line 2\nline 3\n"],
  ["n/p/c?previous=true", '400 previous terminated container "c" in pod "p" not found'],
  ["n/p/other", '404 container "other" not found in pod "p"'],
  ["n/other/c", '404 pod "other" does not exist'],
  ["n/p", "404 404 page not found"],
])("KubeletLogs answers %s like a kubelet", async ([query, answer]) => {
  expect(await get(query)).toBe(answer);
});

test("KubeletLogs writes the time of each line when timestamps are requested", async () => {
  expect(await get("n/p/c?timestamps=true")).toContain(`200 ${new Date(START).toISOString()} line 0\n`);
});
