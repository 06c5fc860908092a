import { expect } from "vitest";
import { type ClusterExtension, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import type { JsonObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { ownObjects } from "../audit.ts";
import { eventually } from "../eventually.ts";
import { createExtension } from "../extensions.ts";
import type { World } from "../world.ts";
import { toInventoryRef } from "./clusterObjects.ts";
import type { ExpectedCondition, ExpectedProblem } from "./vocabulary.ts";

/** The checks of a scenario; each call waits until its condition is true. */
export class ScenarioChecks {
  readonly #world: World;
  readonly #client: Client;
  readonly #id: string;
  readonly #namespace: string;

  constructor(world: World, id: string) {
    this.#world = world;
    this.#client = world.cluster.client;
    this.#id = id;
    this.#namespace = getNamespace(createExtension(id, { packageName: id }));
  }

  /** The latest generation is reconciled, and this bundle is installed. */
  async rolledOut(bundle: string): Promise<void> {
    await this.#world.condition("ClusterExtension", this.#id, (condition, { metadata, status }) => {
      const { install } = (status ?? {}) as NonNullable<ClusterExtension["status"]>;
      const progressing = condition("Progressing");
      const isDone = progressing?.status === "True" && progressing.reason === "Succeeded";
      const isLatest = progressing?.observedGeneration === metadata.generation;
      return isDone && isLatest && condition("Installed")?.status === "True" && install?.bundle.name === bundle;
    });
  }

  async condition({ type, status, reason, message, includes = [] }: ExpectedCondition): Promise<void> {
    await this.#world.condition("ClusterExtension", this.#id, (condition) => {
      const found = condition(type);
      if (found?.status !== status || (reason !== undefined && found.reason !== reason)) return false;
      const isWhole = message === undefined || found.message === message;
      return isWhole && includes.every((part) => found.message.includes(part));
    });
  }

  async problem({ type, includes }: ExpectedProblem): Promise<void> {
    await this.#world.problems(this.#id, (problems) =>
      problems.split("\n").some((line) => line.includes(` ${type}: `) && includes.every((part) => line.includes(part))),
    );
  }

  async exist(names: readonly string[]): Promise<void> {
    for (const name of names) await eventually(async () => expect(await this.#client.get(this.#ref(name)), name).toBeDefined());
  }

  async absent(names: readonly string[]): Promise<void> {
    for (const name of names) await eventually(async () => expect(await this.#client.get(this.#ref(name)), name).toBeUndefined());
  }

  async has(name: string, parts: JsonObject): Promise<void> {
    await eventually(async () => expect(await this.#client.get(this.#ref(name))).toMatchObject(parts));
  }

  async countReplicaSets(count: number): Promise<void> {
    const namespace = this.#namespace;
    await eventually(async () => {
      const { items } = await this.#client.list({ apiVersion: "apps/v1", kind: "ReplicaSet" }, { namespace });
      expect(items.map(describeObject)).toHaveLength(count);
    });
  }

  async nothingLeft(): Promise<void> {
    await eventually(async () => {
      expect(await ownObjects(this.#client, this.#id)).toEqual([]);
      const releases = await this.#client.list(
        { apiVersion: "v1", kind: "Secret" },
        { labelSelector: `owner=operator-controller,name=${this.#id}` },
      );
      expect(releases.items.map(describeObject)).toEqual([]);
    });
  }

  #ref(name: string): ObjectRef {
    return toInventoryRef(name, this.#namespace);
  }
}
