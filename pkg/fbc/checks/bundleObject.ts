import { isUtf8 } from "node:buffer";
import type { JsonObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import { memberOf } from "../keys.ts";
import { parseFirstYamlDocument } from "../yaml.ts";
import { decodedBase64 } from "./base64.ts";

/** Whether the objects inside of bundles are parsed, or only looked at from outside, which a catalog that is mostly objects loads a fifth faster with. */
export type ObjectDepth = "parsed" | "outline";

const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Why opm cannot read the value of a property olm.bundle.object; undefined when it can. @see operator-registry alpha/declcfg/load.go, readBundleObjects */
export function bundleObjectFault(value: JsonObject, depth: ObjectDepth): { phase: "parse" | "convert"; fault: string } | undefined {
  const data = memberOf(value, "data");
  if (typeof data !== "string") return undefined; // null, or already told to be no text
  const bytes = decodedBase64(data);
  if (bytes === undefined) return { phase: "parse", fault: "illegal base64 data" };
  if (!isUtf8(bytes)) return { phase: "convert", fault: "invalid UTF-8" };
  const first = bytes.findIndex((byte) => byte > 0x20);
  const last = bytes.findLastIndex((byte) => byte > 0x20);
  const isObject = bytes[first] === OPEN && bytes[last] === CLOSE;
  if (isObject && depth === "outline") return undefined;
  return yamlFault(bytes.toString(), isObject);
}

function yamlFault(text: string, isObject: boolean): { phase: "convert"; fault: string } | undefined {
  if (isObject) {
    try {
      JSON.parse(text);
      return undefined;
    } catch {
      // YAML's flow form may look the same.
    }
  }
  try {
    parseFirstYamlDocument(text);
    return undefined;
  } catch (err) {
    return { phase: "convert", fault: messageOf(err).split("\n", 1)[0] ?? "" };
  }
}
