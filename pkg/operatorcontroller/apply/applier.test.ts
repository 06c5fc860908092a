import { expect, test } from "vitest";
import { refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { configMap } from "../../../test/support/releases.ts";
import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { DeniedError } from "../state/conditionPoller.ts";
import { formatActions, selectChanges, summarizeActions } from "../state/objectActions.ts";
import { Applier } from "./applier.ts";
import { DryRun } from "./dryRun.ts";

/**
 * A client with canned responses by object name. An object without a canned response exists, and every request for it
 * succeeds.
 */
class CannedObjects {
  readonly calls: string[] = [];
  readonly failures = new Map<string, Error>();
  readonly absent = new Set<string>();
  /** Objects whose deletion fails. */
  readonly undeletable = new Map<string, Error>();
  onCall: (name: string) => void = () => undefined;

  get<T extends KubeObject>(ref: ObjectRef): Promise<T | undefined> {
    return this.#answer(`get ${ref.name}`, ref.name, this.absent.has(ref.name) ? undefined : (live(ref, "1") as T));
  }

  apply<T extends KubeObject>(object: T, { dryRun }: { dryRun?: boolean }): Promise<T> {
    const { name } = object.metadata;
    const ref = { ...object, name, namespace: object.metadata.namespace };
    return this.#answer(`${dryRun ? "try" : "apply"} ${name}`, name, live(ref, name.startsWith("same") ? "1" : "2") as T);
  }

  patch<T extends KubeObject>(ref: ObjectRef): Promise<T> {
    return this.#answer(`patch ${ref.name}`, ref.name, live(ref, "2") as T);
  }

  delete(ref: ObjectRef, { uid = "" }: { uid?: string }): Promise<boolean> {
    return this.#answer(`delete ${ref.name} ${uid}`.trim(), ref.name, !this.absent.has(ref.name), this.undeletable.get(ref.name));
  }

  #answer<T>(call: string, name: string, value: T, failure = this.failures.get(name)): Promise<T> {
    this.calls.push(call);
    this.onCall(name);
    return failure ? Promise.reject(failure) : Promise.resolve(value);
  }
}

function live({ apiVersion, kind, name, namespace }: ObjectRef, resourceVersion: string): KubeObject {
  return { apiVersion, kind, metadata: { name, uid: `uid-${name}`, resourceVersion, ...(namespace ? { namespace } : {}) } };
}

const ref = (name: string): ObjectRef => ({ apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name });
const object = (name: string, kind = "ConfigMap"): KubeObject => ({ ...configMap(name, "ns"), kind });
const { log } = stepContext();
const thrownBy = async (work: Promise<unknown>): Promise<Error> => work.then(() => new Error("nothing thrown")).catch((err: Error) => err);

function start(signal = new AbortController().signal): { server: CannedObjects; applier: Applier; dryRun: DryRun } {
  const server = new CannedObjects();
  return { server, applier: new Applier(server, log, signal), dryRun: new DryRun(server, signal) };
}

/** Runs a dry run of the objects. @throws the error of the dry run. */
async function runDryRun(dryRun: DryRun, objects: readonly KubeObject[]): Promise<void> {
  const { failures } = await dryRun.run(objects);
  const refusal = dryRun.toError(failures, objects);
  if (refusal) throw refusal;
}

const forbidden = (verb: string): Error =>
  refusal(403, "Forbidden", `configmaps is forbidden: User "u" cannot ${verb} resource "configmaps"`);

test("DryRun returns the message of a single failure unchanged, and joins several failures like Helm, in the order of the objects", async () => {
  const { server, applier, dryRun } = start();
  server.failures.set("b", forbidden("patch"));
  const text = 'configmaps is forbidden: User "u" cannot patch resource "configmaps"';
  expect((await thrownBy(runDryRun(dryRun, [object("a"), object("b")]))).message).toBe(`ConfigMap ns/b: ${text}`);
  server.failures.set("d", new Error("exceeded quota"));
  expect(
    (
      await thrownBy(
        runDryRun(
          dryRun,
          ["a", "b", "c", "d"].map((name) => object(name)),
        ),
      )
    ).message,
  ).toBe(`2 errors occurred:\n\t* ConfigMap ns/b: ${text}\n\t* ConfigMap ns/d: exceeded quota\n\n`);
  expect((await thrownBy(applier.read(["b", "d"].map(ref)))).message).toBe(
    `2 errors occurred:\n\t* could not get object: ConfigMap ns/b: ${text}\n\t* could not get object: ConfigMap ns/d: exceeded quota\n\n`,
  );
  expect((await thrownBy(applier.remove([object("d")]))).message).toBe("delete ConfigMap ns/d: exceeded quota");
});

test("Applier.apply throws a retryable error when a policy denies an object", async () => {
  const { server, applier } = start();
  server.failures.set("a", refusal(422, "Invalid", "denied by policy"));
  expect(await thrownBy(applier.apply([object("a")], new Map()))).toMatchObject({ retry: true, reason: "Retrying" });
});

test("Applier.apply applies all objects of the kind that failed and then stops, or continues when continueOnFailure is true", async () => {
  const objects = [object("a"), object("b"), object("c", "Service")];
  for (const [continueOnFailure, calls] of [
    [false, ["apply a", "apply b"]],
    [true, ["apply a", "apply b", "apply c"]],
  ] as const) {
    const { server, applier } = start();
    server.failures.set("a", new Error("no"));
    expect((await thrownBy(applier.apply(objects, new Map(), { continueOnFailure }))).message).toBe("ConfigMap ns/a: no");
    expect(server.calls).toEqual(calls);
  }
});

test("Applier.actions lists completed actions when a call fails midway", async () => {
  const { server, applier } = start();
  server.failures.set("broken", new Error("no"));
  const before = new Map(["same", "changed"].map((name) => [`/ConfigMap/ns/${name}`, live(ref(name), "1")]));
  await thrownBy(
    applier.apply(
      ["same", "changed", "new", "broken"].map((name) => object(name)),
      before,
    ),
  );
  expect(applier.actions.map(({ verb, ref: { name } }) => `${verb} ${name}`)).toEqual(["unchanged same", "updated changed", "created new"]);
  server.absent.add("gone");
  await applier.remove([object("there"), object("gone")]);
  expect(summarizeActions(applier.actions)).toBe("1 unchanged, 1 updated, 1 created, 1 deleted, 1 absent");
  expect(formatActions(selectChanges(applier.actions))).toBe(
    "ConfigMap ns/changed (updated), ConfigMap ns/new (created), ConfigMap ns/there (deleted)",
  );
});

test("formatActions lists five objects, and the number of remaining objects", () => {
  const actions = ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({ verb: "created" as const, ref: ref(name) }));
  expect(formatActions(actions)).toMatch(/^ConfigMap ns\/a \(created\), .*ConfigMap ns\/e \(created\) and 2 more$/);
});

test("Applier.read treats an object as absent when its kind is not served", async () => {
  const { server, applier } = start();
  server.failures.set("a", new KindNotServed("example.com/v1", "Thing"));
  expect([...(await applier.read(["a", "b"].map(ref))).keys()]).toEqual(["/ConfigMap/ns/b"]);
  await applier.remove([object("a")]);
  expect(applier.actions).toMatchObject([{ verb: "absent" }]);
});

test("Applier.remove deletes only the object with the uid that was read", async () => {
  const { server, applier } = start();
  server.undeletable.set("again", refusal(409, "Conflict", "Precondition failed: UID in precondition: 1, UID in object meta: uid-again"));
  const before = live(ref("again"), "1");
  await applier.remove([live(ref("read"), "1"), { ...before, metadata: { ...before.metadata, uid: "1" } }]);
  expect(server.calls).toEqual(["delete read uid-read", "delete again 1", "get again"]);
  expect(applier.actions.map(({ verb }) => verb)).toEqual(["deleted", "absent"]);
});

test("Applier.remove skips an object when its owner has changed since it was read", async () => {
  const { server, applier } = start();
  server.undeletable.set("taken", refusal(409, "Conflict", "the object has been modified"));
  const before = live(ref("taken"), "1");
  const ownerReferences = [{ apiVersion: "v1", kind: "Owner", name: "o", uid: "o", controller: true }];
  await applier.remove([{ ...before, metadata: { ...before.metadata, ownerReferences } }]);
  expect(server.calls).toEqual(["delete taken uid-taken", "get taken"]);
  expect(applier.actions.map(({ verb }) => verb)).toEqual(["absent"]);
});

test("Applier.remove deletes the newest version of an object when another client has changed it since it was read", async () => {
  const { server, applier } = start();
  server.undeletable.set("busy", refusal(409, "Conflict", "the object has been modified"));
  server.onCall = () => {
    if (server.calls.length === 4) server.undeletable.clear();
  };
  await applier.remove([live(ref("busy"), "1")]);
  expect(server.calls.filter((call) => call.startsWith("delete"))).toHaveLength(3);
  expect(applier.actions.map(({ verb }) => verb)).toEqual(["deleted"]);
});

// Source: O-04: a failed prune is retried and reported.
test("Applier.remove fails when the conflict persists", async () => {
  const { server, applier } = start();
  server.undeletable.set("same", refusal(409, "Conflict", "the object has been modified"));
  expect((await thrownBy(applier.remove([live(ref("same"), "1")]))).message).toBe("delete ConfigMap ns/same: the object has been modified");
  expect(applier.actions).toEqual([]);
});

const newBinding = (kind: string, name: string, role: string): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: kind.replace("Binding", ""), name: role },
});

test.for<[string, KubeObject[], boolean]>([
  ["a role of the same set", [object("r", "Role"), newBinding("RoleBinding", "b", "r")], true],
  ["a cluster role of the same set", [object("r", "ClusterRole"), newBinding("ClusterRoleBinding", "b", "r")], true],
  ["a role that does not exist", [object("other", "Role"), newBinding("RoleBinding", "b", "r")], false],
  ["an object of that name that is not a role", [object("r"), newBinding("RoleBinding", "b", "r")], false],
])("DryRun accepts or rejects a binding to %s: %j", async ([, objects, fine]) => {
  const { server, dryRun } = start();
  server.failures.set("b", refusal(404, "NotFound", 'roles.rbac.authorization.k8s.io "r" not found'));
  const err = await thrownBy(runDryRun(dryRun, objects));
  expect(err.message).toContain(fine ? "nothing thrown" : '"r" not found');
});

test("DryRun.toError returns a DeniedError, which is over when the object is no longer denied, only for denials", async () => {
  const { server, dryRun } = start();
  const signal = new AbortController().signal;
  server.failures.set("b", forbidden("patch"));
  const err = await thrownBy(runDryRun(dryRun, [object("a"), object("b")]));
  if (!(err instanceof DeniedError)) throw err;
  expect(await err.isOver(signal)).toBe(false);
  server.failures.delete("b");
  expect(await err.isOver(signal)).toBe(true);
  server.failures.set("a", refusal(422, "Invalid"));
  server.failures.set("b", forbidden("patch"));
  expect(await thrownBy(runDryRun(dryRun, [object("a"), object("b")]))).not.toBeInstanceOf(DeniedError);
});

test("Applier stops before the next object without a failure when the signal aborts", async () => {
  const stop = new AbortController();
  const { server, applier } = start(stop.signal);
  server.onCall = (name) => {
    if (name === "o3") stop.abort(new Error("stopped"));
  };
  server.failures.set("o3", new Error("aborted"));
  const objects = Array.from({ length: 20 }, (_, i) => object(`o${i}`));
  expect((await thrownBy(applier.apply(objects, new Map()))).message).toBe("stopped");
  expect(server.calls.length).toBeLessThan(12);
});
