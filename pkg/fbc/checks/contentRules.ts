import { isObject } from "../../api/jsonObject.ts";
import { Schema } from "../content.ts";
import { type ContentPlace, placeText } from "../contentError.ts";
import { memberOf } from "../keys.ts";
import { kindOf, wrongKind } from "../meta.ts";
import type { Meta } from "../types.ts";
import type { Subject } from "./finding.ts";
import type { FindingLog } from "./findingLog.ts";
import { MAX_QUOTED, quoted } from "./quoted.ts";

/**
 * The rules without which a catalog cannot be served: what every object of every schema has in common, and no package or bundle twice.
 * @see https://olm.operatorframework.io/docs/reference/file-based-catalogs/ "Schema"
 */
export class ContentRules {
  readonly #log: FindingLog;
  /** Where each package, and each bundle of a package, stands. */
  readonly #packages = new Map<string, ContentPlace>();
  readonly #bundles = new Map<string, Map<string, ContentPlace>>();

  constructor(log: FindingLog) {
    this.#log = log;
  }

  /** @param subject the same meta without its content; it is kept. */
  check(meta: Meta, subject: Subject): void {
    const { schema, name, blob } = meta;
    if (schema === "") this.#log.add("schema-missing", subject, `object '${name.slice(0, MAX_QUOTED)}' is missing root schema field`);
    if (meta.package === "" && memberOf(blob, "package") !== undefined)
      this.#log.add("package-empty", subject, "package must not be empty", { hint: "leave it out where there is none" });
    this.#checkProperties(meta, subject);
    this.#checkUnique(subject);
  }

  #checkProperties({ blob }: Meta, subject: Subject): void {
    const properties = memberOf(blob, "properties");
    if (properties === undefined || properties === null) return;
    if (!Array.isArray(properties)) {
      this.#log.add("properties-not-a-list", subject, `properties: ${wrongKind(properties, "a list")}`);
      return;
    }
    for (const [i, property] of (properties as unknown[]).entries()) {
      if (isObject(property)) this.#checkProperty(memberOf(property, "type"), memberOf(property, "value"), i, subject);
      else this.#log.add("properties-not-a-list", subject, `properties[${i}]: ${wrongKind(property, "an object")}`);
    }
  }

  #checkProperty(type: unknown, value: unknown, i: number, subject: Subject): void {
    if (typeof type !== "string" || type === "") {
      const hint = type === undefined || type === "" ? undefined : wrongKind(type, "a string");
      this.#log.add("property-type-missing", subject, `invalid property[${i}]: type must be set`, hint === undefined ? {} : { hint });
    }
    if (value !== undefined && value !== null) return;
    const typeText = quoted(typeof type === "string" ? type : "");
    if (subject.schema === Schema.bundle && value === undefined) {
      const message = `parse properties for bundle ${quoted(subject.name)}: parse property[${i}] of type ${typeText}: unexpected end of JSON input`;
      this.#log.add("property-value-missing", subject, message, { hint: "value must be set" });
    } else {
      const hint = value === null ? `${kindOf(value)} is no value` : undefined;
      const message = `invalid property[${i}] of type ${typeText}: value must be set`;
      this.#log.add("property-value-missing", subject, message, hint === undefined ? {} : { hint });
    }
  }

  #checkUnique(subject: Subject): void {
    const { schema, package: packageName, name, place } = subject;
    if (schema === Schema.package && name !== "") {
      const first = this.#packages.get(name);
      if (first) this.#log.add("duplicate-package", subject, `duplicate package ${quoted(name)}`, firstAt(first));
      else this.#packages.set(name, place);
    } else if (schema === Schema.bundle && packageName !== "") {
      const bundles = this.#bundles.get(packageName) ?? new Map<string, ContentPlace>();
      const first = bundles.get(name);
      const message = `package ${quoted(packageName)} has duplicate bundle ${quoted(name)}`;
      if (first) this.#log.add("duplicate-bundle", subject, message, firstAt(first));
      else this.#bundles.set(packageName, bundles.set(name, place));
    }
  }
}

function firstAt(place: ContentPlace): { hint: string } {
  return { hint: `the first stands in ${placeText(place)}` };
}
