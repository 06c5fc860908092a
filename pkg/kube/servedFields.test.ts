import { expect, onTestFinished, test } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { Client } from "./client.ts";
import { readServedFields } from "./servedFields.ts";

const WIDGET = { apiVersion: "example.com/v1", kind: "Widget" };
const PATH = "/openapi/v3/apis/example.com/v1";

async function read(answer: Answer): ReturnType<typeof readServedFields> {
  const api = await LoopbackApi.start(({ url }) => (url === PATH ? answer : statusAnswer(404, "NotFound", "not found")));
  const client = Client.of(api.credentials());
  onTestFinished(async () => {
    await client.close();
    await api[Symbol.asyncDispose]();
  });
  return readServedFields(client, WIDGET);
}

const schema = (kind: string, properties: object) => ({
  "x-kubernetes-group-version-kind": [{ group: "example.com", version: "v1", kind }],
  properties,
});

test("readServedFields returns the paths of all fields, and which of them are required", async () => {
  const spec = {
    required: ["size"],
    properties: { size: {}, parts: { items: { required: ["name"], properties: { name: {}, note: {} } } } },
  };
  const schemas = { other: schema("Other", { status: {} }), own: schema("Widget", { spec }) };
  const fields = await read({ json: { components: { schemas } } });
  expect([...(fields?.all ?? [])]).toEqual(["spec", "spec.size", "spec.parts", "spec.parts[].name", "spec.parts[].note"]);
  expect([...(fields?.required ?? [])]).toEqual(["spec.size", "spec.parts[].name"]);
});

test.for<[what: string, answer: Answer]>([
  ["does not publish the group", statusAnswer(404, "NotFound", "not found")],
  ["denies the read", statusAnswer(403, "Forbidden", "forbidden")],
  ["does not publish the kind", { json: { components: { schemas: { other: schema("Other", {}) } } } }],
  ["answers without schemas", { json: {} }],
])("readServedFields returns undefined when the API server %s", async ([, answer]) => {
  expect(await read(answer)).toBeUndefined();
});

test("readServedFields fails when the API server fails", async () => {
  await expect(read(statusAnswer(500, "InternalError", "broken"))).rejects.toThrow("broken");
});
