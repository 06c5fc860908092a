import { afterEach, expect, test } from "vitest";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "../../test/support/loopbackApi.ts";
import { Client } from "./client.ts";
import { KindNotServed, KubeError } from "./errors.ts";

const THING = { apiVersion: "g.io/v1", kind: "Thing" };
const REF = { ...THING, name: "x", namespace: "a" };
const RESOURCES = { json: { resources: [{ name: "things", kind: "Thing", namespaced: true, verbs: [] }] } };
const OBJECT = { ...THING, metadata: { name: "x", namespace: "a" } };

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Starts a loopback server for the kind Thing, and a client. `answer` responds to all other requests. */
async function start(answer: (request: SeenRequest) => Answer, discovery: () => Answer = () => RESOURCES) {
  const api = await LoopbackApi.start((request) => (request.url === "/apis/g.io/v1" ? discovery() : answer(request)));
  const client = Client.of(api.credentials());
  open.push(
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  return { api, client, asked: () => api.log.filter((line) => line !== "GET /apis/g.io/v1") };
}

test("client.get returns undefined and client.delete returns false for a missing object", async () => {
  const { client } = await start(() => statusAnswer(404, "NotFound", 'things.g.io "x" not found', { name: "x", kind: "things" }));
  expect(await client.get(REF)).toBeUndefined();
  expect(await client.delete(REF)).toBe(false);
});

test("the client keeps unknown fields of objects on read and write", async () => {
  const wire = { ...OBJECT, spec: { "x-kubernetes-preserve-unknown-fields": true, nothing: null, deep: [{ big: 1 }] } };
  const { client, api } = await start(() => ({ json: wire }));
  const read = await client.get(REF);
  expect(read).toEqual(wire);
  await client.replace(read ?? OBJECT);
  expect(JSON.parse(api.requests.at(-1)?.body ?? "")).toEqual(wire);
});

test("client.list reads page by page and sets the kind of every item", async () => {
  const { client, asked } = await start(({ url }) => {
    const second = url.includes("continue=tok%2F1");
    const items = [{ metadata: { name: second ? "b" : "a" } }];
    return { json: { items, metadata: { resourceVersion: "7", ...(second ? {} : { continue: "tok/1" }) } } };
  });
  expect(await client.list(THING, { labelSelector: "l=1", limit: 1 })).toEqual({
    items: [
      { ...THING, metadata: { name: "a" } },
      { ...THING, metadata: { name: "b" } },
    ],
    resourceVersion: "7",
  });
  expect(asked()).toEqual([
    "GET /apis/g.io/v1/things?labelSelector=l%3D1&limit=1",
    "GET /apis/g.io/v1/things?labelSelector=l%3D1&limit=1&continue=tok%2F1",
  ]);
});

test("client.list lists from the cache of the API server when the list may be as old as a resourceVersion", async () => {
  const { client, asked } = await start(() => ({ json: { items: [], metadata: { resourceVersion: "8" } } }));
  expect(await client.list(THING, { notOlderThan: "7" })).toEqual({ items: [], resourceVersion: "8" });
  expect(asked()).toEqual(["GET /apis/g.io/v1/things?limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan"]);
});

test("client.list requests a consistent list when the cache of the API server has not reached the resourceVersion", async () => {
  const { client, asked } = await start(({ url }) =>
    url.includes("resourceVersion=")
      ? statusAnswer(504, "Timeout", "Too large resource version: 7, current: 5")
      : { json: { items: [{ metadata: { name: "a" } }], metadata: { resourceVersion: "7" } } },
  );
  expect((await client.list(THING, { notOlderThan: "7" })).items).toHaveLength(1);
  expect(asked().at(-1)).toBe("GET /apis/g.io/v1/things?limit=500");
});

test("client.list throws if the response is not a list", async () => {
  const answers = [{}, { kind: "Status", apiVersion: "v1", status: "Success" }, { kind: "ThingList", items: {} }, "items"];
  for (const json of answers) {
    const { client } = await start(() => ({ json }));
    await expect(client.list(THING), JSON.stringify(json)).rejects.toThrow(
      "listing Thing (g.io/v1): the response of the API server is not a list",
    );
  }
  for (const json of [{ items: null }, { items: [] }, { kind: "ThingList", apiVersion: "g.io/v1" }]) {
    const { client } = await start(() => ({ json }));
    expect((await client.list(THING)).items, JSON.stringify(json)).toEqual([]);
  }
});

test.for([
  ["", "resource name may not be empty"],
  [".", `invalid resource name ".": [may not be '.']`],
  ["..", `invalid resource name "..": [may not be '..']`],
  ["x/status", `invalid resource name "x/status": [may not contain '/']`],
  ["x%2Fstatus", `invalid resource name "x%2Fstatus": [may not contain '%']`],
])("the client sends no request for an object with the name %j", async ([name = "", message]) => {
  const { client, asked } = await start(() => ({ json: { kind: "ThingList", items: [] } }));
  const [ref, object] = [
    { ...REF, name },
    { ...OBJECT, metadata: { name, namespace: "a" } },
  ];
  await expect(client.get(ref)).rejects.toThrow(message);
  await expect(client.delete(ref)).rejects.toThrow(message);
  await expect(client.patch(ref, {}, { type: "merge" })).rejects.toThrow(message);
  await expect(client.replace(object)).rejects.toThrow(message);
  await expect(client.apply(object, { fieldManager: "m" })).rejects.toMatchObject({ message, status: 400 });
  expect(asked()).toEqual([]);
});

test("the client sends no request for an object without a name", async () => {
  const { client, asked } = await start(() => ({ json: OBJECT }));
  const ref = { ...REF, name: undefined as unknown as string };
  await expect(client.delete(ref)).rejects.toThrow("resource name may not be empty");
  expect(asked()).toEqual([]);
});

test("the client sends no request for an object in the namespace ..", async () => {
  const { client, asked } = await start(() => ({ json: OBJECT }));
  await expect(client.get({ ...REF, namespace: ".." })).rejects.toThrow(`invalid namespace "..": [may not be '..']`);
  await expect(client.list(THING, { namespace: "a/b" })).rejects.toThrow(`invalid namespace "a/b": [may not contain '/']`);
  expect(asked()).toEqual([]);
});

test("client.get throws when the response is a list, and returns objects that only look like one", async () => {
  let json: object = { kind: "ThingList", apiVersion: "g.io/v1", metadata: { resourceVersion: "1" }, items: [OBJECT] };
  const { client } = await start(() => ({ json }));
  await expect(client.get(REF)).rejects.toThrow('reading Thing "x": the response of the API server is a list');
  json = { ...OBJECT, kind: "AllowList", items: [1] };
  expect(await client.get(REF)).toMatchObject({ items: [1] });
});

test("client.list requests no further page when it has maxItems items", async () => {
  const { client, asked } = await start(() => ({ json: { items: [{ metadata: {} }, { metadata: {} }], metadata: { continue: "more" } } }));
  expect((await client.list(THING, { maxItems: 1 })).items).toHaveLength(1);
  expect(asked()).toHaveLength(1);
});

test("client.list requests the whole list if the continue token expires", async () => {
  const { client, asked } = await start(({ url }) => {
    if (url.includes("continue=")) return statusAnswer(410, "Expired", "too old");
    if (url.includes("limit=")) return { json: { items: [{ metadata: { name: "old" } }], metadata: { continue: "c" } } };
    return { json: { items: [{ metadata: { name: "new" } }], metadata: { resourceVersion: "9" } } };
  });
  expect(await client.list(THING)).toEqual({ items: [{ ...THING, metadata: { name: "new" } }], resourceVersion: "9" });
  expect(asked()).toHaveLength(3);
});

test("client.apply sends a server-side apply patch as JSON", async () => {
  const { client, api } = await start(() => ({ json: OBJECT }));
  await client.apply({ ...OBJECT, spec: { max: 9223372036854775807n } }, { fieldManager: "m", force: true, dryRun: true });
  const { method, url, headers, body } = api.requests.at(-1) ?? {};
  expect([method, url, headers?.["content-type"]]).toEqual([
    "PATCH",
    "/apis/g.io/v1/namespaces/a/things/x?fieldManager=m&force=true&dryRun=All",
    "application/apply-patch+yaml",
  ]);
  expect(body).toContain('"max":9223372036854775807');
});

test.for<["merge" | "json" | "strategic", string]>([
  ["merge", "application/merge-patch+json"],
  ["json", "application/json-patch+json"],
  ["strategic", "application/strategic-merge-patch+json"],
])("a %s patch has media type %s", async ([type, contentType]) => {
  const { client, api } = await start(() => ({ json: OBJECT }));
  await client.patch(REF, { status: null }, { type, subresource: "status" });
  expect([api.requests.at(-1)?.url, api.requests.at(-1)?.headers["content-type"], api.requests.at(-1)?.body]).toEqual([
    "/apis/g.io/v1/namespaces/a/things/x/status",
    contentType,
    '{"status":null}',
  ]);
});

test("client.delete sends its preconditions", async () => {
  const { client, api } = await start(() => ({ json: { kind: "Status" } }));
  expect(await client.delete(REF, { uid: "u", resourceVersion: "3", propagationPolicy: "Foreground" })).toBe(true);
  expect(JSON.parse(api.requests.at(-1)?.body ?? "")).toEqual({
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions: { uid: "u", resourceVersion: "3" },
    propagationPolicy: "Foreground",
  });
});

test("client throws KindNotServed when the path of the kind returns 404", async () => {
  let served = true;
  const { client } = await start(
    () => (served ? { json: OBJECT } : { status: 404, text: "404 page not found\n" }),
    () => (served ? RESOURCES : statusAnswer(404, "NotFound", "the server could not find the requested resource", {})),
  );
  await client.get(REF);
  served = false;
  await expect(client.get(REF)).rejects.toBeInstanceOf(KindNotServed);
  await expect(client.list(THING)).rejects.toBeInstanceOf(KindNotServed);
});

test("client.create throws an error about a missing namespace, not about a missing kind", async () => {
  const { client } = await start(() => statusAnswer(404, "NotFound", 'namespaces "a" not found', { name: "a", kind: "namespaces" }));
  const err: unknown = await client.create(OBJECT).catch((thrown: unknown) => thrown);
  expect(err).toBeInstanceOf(KubeError);
  expect(err).toMatchObject({ status: 404, message: 'namespaces "a" not found' });
});

test("token clients use the parent's discovery and their own token", async () => {
  const { client, api } = await start(() => ({ json: OBJECT }));
  await client.get(REF);
  await client.withToken(() => Promise.resolve("t")).get(REF);
  expect(api.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ["/apis/g.io/v1", undefined],
    ["/apis/g.io/v1/namespaces/a/things/x", undefined],
    ["/apis/g.io/v1/namespaces/a/things/x", "Bearer t"],
  ]);
});

test("metadata-only requests accept PartialObjectMetadata for objects and PartialObjectMetadataList for lists", async () => {
  const { client, api } = await start(({ url }) => ({
    json: url.endsWith("/x") ? { kind: "PartialObjectMetadata", metadata: { name: "x" } } : { items: [] },
  }));
  expect(await client.get(REF, { metadataOnly: true })).toEqual({ ...THING, metadata: { name: "x" } });
  await client.list(THING, { metadataOnly: true });
  expect(api.requests.map(({ headers }) => headers.accept).slice(1)).toEqual([
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  ]);
});

const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

test("client.watch yields all events when the response arrives in small chunks", async () => {
  const wire =
    line("ADDED", { metadata: { name: "ä" } }) + line("BOOKMARK", { metadata: { resourceVersion: "9" } }) + line("DELETED", OBJECT);
  const { client, asked } = await start(() => (response) => {
    const bytes = Buffer.from(wire);
    const send = (at: number): void => {
      if (at >= bytes.length) return void response.end();
      response.write(bytes.subarray(at, at + 7));
      return void setImmediate(send, at + 7);
    };
    send(0);
  });
  const events = await Array.fromAsync(client.watch(THING, { resourceVersion: "5", timeoutSeconds: 300 }));
  expect(events).toEqual([
    { type: "ADDED", object: { ...THING, metadata: { name: "ä" } } },
    { type: "BOOKMARK", object: { ...THING, metadata: { resourceVersion: "9" } } },
    { type: "DELETED", object: OBJECT },
  ]);
  expect(asked()).toEqual(["GET /apis/g.io/v1/things?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300"]);
});

test("client.watch requests no bookmarks if the caller disables bookmarks", async () => {
  const { client, asked } = await start(() => (response) => response.end());
  await Array.fromAsync(client.watch(THING, { resourceVersion: "5", timeoutSeconds: 300, bookmarks: false }));
  expect(asked()).toEqual(["GET /apis/g.io/v1/things?watch=true&resourceVersion=5&timeoutSeconds=300"]);
});

test.for<[string, Answer]>([
  ["an ERROR event", { text: line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" }) }],
  ["a response", statusAnswer(410, "Expired", "too old resource version")],
])("client.watch throws KubeError 410 when %s reports an expired resourceVersion", async ([, answer]) => {
  const { client } = await start(() => answer);
  const err: unknown = await Array.fromAsync(client.watch(THING, { resourceVersion: "1" })).catch((thrown: unknown) => thrown);
  expect(err).toMatchObject({ status: 410, reason: "Expired", message: "too old resource version" });
});

test("client.watch ends without an error and closes the connection when its signal aborts", async () => {
  const closed = Promise.withResolvers<void>();
  const { client } = await start(() => (response) => {
    response.on("close", () => closed.resolve());
    response.write(line("ADDED", OBJECT));
  });
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const { type } of client.watch(THING, { resourceVersion: "1", signal: stop.signal })) {
    seen.push(type);
    stop.abort();
  }
  expect(seen).toEqual(["ADDED"]);
  await closed.promise;
});

test("client.watch ends the request when the caller breaks out of the loop", async () => {
  const closed = Promise.withResolvers<void>();
  const { client } = await start(() => (response) => {
    response.on("close", () => closed.resolve());
    response.write(line("ADDED", OBJECT));
  });
  for await (const { type } of client.watch(THING, { resourceVersion: "1" })) {
    expect(type).toBe("ADDED");
    break;
  }
  await closed.promise;
});

test("client.raw parses a JSON response, and throws KubeError for an error response", async () => {
  const { client } = await start(({ url }) => (url === "/version" ? { json: { major: "1" } } : statusAnswer(403, "Forbidden", "no")));
  expect(await client.raw("GET", "/version")).toEqual({ major: "1" });
  await expect(client.raw("POST", "/other", {})).rejects.toMatchObject({ status: 403, message: "no" });
});
