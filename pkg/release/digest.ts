import { createHash } from "node:crypto";
import type { KubeObject } from "../api/k8s.ts";
import { canonicalJson } from "../golang/json.ts";
import { objectKey } from "./identity.ts";

/** SHA-256 (hex) of one object, whatever the order of its members. */
export function objectDigest(object: KubeObject): string {
  return createHash("sha256").update(canonicalJson(object)).digest("hex");
}

/** SHA-256 (hex) of a set of objects, whatever their order and that of their members. */
export function objectsDigest(objects: readonly KubeObject[]): string {
  const lines = objects.map((object) => `${objectKey(object)} ${objectDigest(object)}\n`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}
