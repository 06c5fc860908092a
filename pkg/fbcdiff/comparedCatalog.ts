import type { JsonObject } from "../api/k8s.ts";
import { Schema } from "../fbc/content.ts";
import { bundleVersion } from "../fbc/graph/bundleVersion.ts";
import { memberOf } from "../fbc/keys.ts";
import { objectMember, objectMembers, textMember } from "../fbc/members.ts";
import type { Meta } from "../fbc/types.ts";
import type { ComparedBundle } from "./comparedBundle.ts";
import { ComparedPackage } from "./comparedPackage.ts";

/** A catalog as it is compared with another one. */
export class ComparedCatalog {
  readonly packages = new Map<string, ComparedPackage>();

  /** Takes the next object; what it holds of manifests is kept as a fingerprint. @param fingerprint of a value, the same for the same. */
  add({ schema, package: packageName, name, blob }: Meta, fingerprint: (value: unknown) => unknown): void {
    if (schema === Schema.package) this.#package(name).defaultChannel = textMember(blob, "defaultChannel");
    else if (schema === Schema.channel) this.#package(packageName).addChannel(name, blob);
    else if (schema === Schema.bundle) this.#package(packageName).addBundle(name, comparedBundle(blob, fingerprint), versionOf(blob));
    else if (schema === Schema.deprecations) this.#package(packageName).addDeprecations(blob);
  }

  #package(name: string): ComparedPackage {
    const known = this.packages.get(name);
    if (known) return known;
    const fresh = new ComparedPackage(name);
    this.packages.set(name, fresh);
    return fresh;
  }
}

function comparedBundle(blob: JsonObject, fingerprint: (value: unknown) => unknown): ComparedBundle {
  const properties = new Map<string, unknown[]>();
  for (const property of objectMembers(blob, "properties")) {
    const type = textMember(property, "type");
    properties.set(type, [...(properties.get(type) ?? []), fingerprint(memberOf(property, "value"))]);
  }
  const relatedImages = objectMembers(blob, "relatedImages").map((related) => textMember(related, "image"));
  const { text, release } = versionOf(blob);
  return {
    image: textMember(blob, "image"),
    version: release === "" ? text : `${text} release ${release}`,
    properties,
    relatedImages: relatedImages.sort(),
  };
}

function versionOf(blob: JsonObject): { text: string; release: string; parsed: ReturnType<typeof bundleVersion> } {
  const property = objectMembers(blob, "properties").find((one) => textMember(one, "type") === "olm.package");
  const value = (property && objectMember(property, "value")) ?? {};
  const [text, release] = [textMember(value, "version"), textMember(value, "release")];
  return { text, release, parsed: bundleVersion(text, release === "" ? undefined : release) };
}
