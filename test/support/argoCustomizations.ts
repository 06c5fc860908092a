import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { type ArgoAction, type ArgoHealth, ArgoSandbox } from "./argoSandbox.ts";

const CONFIG_MAP = join(import.meta.dirname, "../../config/argocd/argocd-cm.yaml");

interface ActionScripts {
  "discovery.lua": string;
  definitions: { name: string; "action.lua": string }[];
}

/** Argo CD with the customizations in config/argocd/argocd-cm.yaml. Finds scripts by group and kind, as `GetHealthScript` and `GetResourceAction` do. */
export class ArgoCustomizations {
  readonly #sandbox = new ArgoSandbox();
  readonly #data = (parseYaml(readFileSync(CONFIG_MAP, "utf8")) as { data: Record<string, string> }).data;

  /** Returns the health of an object. @throws Error if its kind has no health script. */
  computeHealth(object: KubeObject): Promise<ArgoHealth> {
    return this.#sandbox.computeHealth(object, this.#find("health", object));
  }

  /** Returns the actions of an object, sorted by name. */
  listActions(object: KubeObject): Promise<ArgoAction[]> {
    return this.#sandbox.listActions(object, this.#readActions(object)["discovery.lua"]);
  }

  /** Returns the object after an action. @throws Error if the kind has no such action. */
  runAction(object: KubeObject, name: string): Promise<KubeObject> {
    const action = this.#readActions(object).definitions.find((definition) => definition.name === name);
    if (!action) throw new Error(`${object.kind} has no action ${name}`);
    return this.#sandbox.runAction(object, action["action.lua"]);
  }

  /** Returns the JSON pointers that Argo CD ignores when it compares an object with Git. */
  listIgnored(object: KubeObject): string[] {
    return (parseYaml(this.#find("ignoreDifferences", object)) as { jsonPointers: string[] }).jsonPointers;
  }

  #readActions(object: KubeObject): ActionScripts {
    return parseYaml(this.#find("actions", object)) as ActionScripts;
  }

  #find(subject: string, { apiVersion, kind }: KubeObject): string {
    const key = `resource.customizations.${subject}.${apiVersion.split("/", 1)[0]}_${kind}`;
    const text = this.#data[key];
    if (text === undefined) throw new Error(`argocd-cm has no ${key}`);
    return text;
  }
}
