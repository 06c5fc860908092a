import { createHash } from "node:crypto";
import type { BaseImage } from "./baseImage.ts";
import type { BundledPackage, Lockfile } from "./packages.ts";

/** A time that makes the bills reproducible; SPDX requires one. */
const CREATED = "1970-01-01T00:00:00Z";

/**
 * Creates a CycloneDX bill of materials of a build: the bundled packages with version, license and checksum. It contains no time or serial number, so
 * that the build is reproducible.
 * @see https://cyclonedx.org/docs/1.5/json
 */
export function formatCycloneDx(packages: readonly BundledPackage[], lock: Lockfile): string {
  const { name, version, license } = getProgram(lock);
  return toText({
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": `${name}@${version}`, name, version, licenses: toLicenses(license) } },
    components: packages.map((one) => ({
      type: "library",
      "bom-ref": one.purl,
      name: one.name,
      version: one.version,
      purl: one.purl,
      licenses: toLicenses(one.license),
      hashes: [{ alg: one.hash.algorithm.replace("sha", "SHA-"), content: one.hash.hex }],
    })),
  });
}

/**
 * Creates an SPDX bill of materials with the same content as `formatCycloneDx`. Its creation time is the epoch, and its namespace depends only on the
 * content, so that the build is reproducible.
 * @see https://spdx.github.io/spdx-spec/v2.3/
 */
export function formatSpdx(packages: readonly BundledPackage[], lock: Lockfile): string {
  const { name, version, license } = getProgram(lock);
  const components = packages.map((one) => ({
    SPDXID: toSpdxId(one.purl),
    name: one.name,
    versionInfo: one.version,
    downloadLocation: lock.packages[one.folder]?.resolved ?? "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: one.license ?? "NOASSERTION",
    copyrightText: "NOASSERTION",
    checksums: [{ algorithm: one.hash.algorithm.toUpperCase(), checksumValue: one.hash.hex }],
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: one.purl }],
  }));
  const program = {
    SPDXID: toSpdxId(`${name}@${version}`),
    name,
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: license ?? "NOASSERTION",
    licenseDeclared: license ?? "NOASSERTION",
    copyrightText: "NOASSERTION",
  };
  const digest = createHash("sha256")
    .update(JSON.stringify([program, components]))
    .digest("hex");
  return toText({
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${name}-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${version}-${digest}`,
    creationInfo: { created: CREATED, creators: [`Tool: ${name}-build`] },
    documentDescribes: [program.SPDXID],
    packages: [program, ...components],
    relationships: components.map(({ SPDXID }) => ({
      spdxElementId: program.SPDXID,
      relationshipType: "CONTAINS",
      relatedSpdxElement: SPDXID,
    })),
  });
}

/** Node.js in an executable or an image. */
export interface NodeJs {
  /** Such as "24.21.0". */
  readonly version: string;
  /** Checksum of its binary in hexadecimal. Undefined for an image, whose platforms have different binaries. */
  readonly sha256?: string;
}

/** Adds Node.js to the CycloneDX bill of materials of a build. */
export function addNodeToCycloneDx(bill: string, { version, sha256 }: NodeJs): string {
  return addComponent(bill, {
    type: "platform",
    "bom-ref": getNodePurl(version),
    name: "node",
    version,
    purl: getNodePurl(version),
    licenses: toLicenses("MIT"),
    ...(sha256 === undefined ? {} : { hashes: [{ alg: "SHA-256", content: sha256 }] }),
  });
}

/** Adds Node.js to the SPDX bill of materials of a build. */
export function addNodeToSpdx(bill: string, { version, sha256 }: NodeJs): string {
  const purl = getNodePurl(version);
  const node = {
    SPDXID: toSpdxId(purl),
    name: "node",
    versionInfo: version,
    downloadLocation: `https://nodejs.org/dist/v${version}/`,
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: "MIT",
    copyrightText: "NOASSERTION",
    ...(sha256 === undefined ? {} : { checksums: [{ algorithm: "SHA256", checksumValue: sha256 }] }),
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
  };
  return addPackage(bill, node, sha256 === undefined ? `node-${version}` : `node-${version}-${sha256.slice(0, 16)}`);
}

/** Adds the base image of an image, and its Node.js, to the CycloneDX bill of materials of a build. It is the same for all platforms. */
export function addBaseImageToCycloneDx(bill: string, base: BaseImage): string {
  const { name, digest, node } = base;
  return addComponent(addNodeToCycloneDx(bill, { version: node }), {
    type: "container",
    "bom-ref": getImagePurl(base),
    name,
    version: digest,
    purl: getImagePurl(base),
    hashes: [{ alg: "SHA-256", content: getHex(digest) }],
  });
}

/** Adds the base image of an image, and its Node.js, to the SPDX bill of materials of a build. It is the same for all platforms. */
export function addBaseImageToSpdx(bill: string, base: BaseImage): string {
  const { name, digest, node } = base;
  const image = {
    SPDXID: toSpdxId(`${name}@${digest}`),
    name,
    versionInfo: digest,
    primaryPackagePurpose: "CONTAINER",
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: "NOASSERTION",
    copyrightText: "NOASSERTION",
    checksums: [{ algorithm: "SHA256", checksumValue: getHex(digest) }],
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: getImagePurl(base) }],
  };
  return addPackage(addNodeToSpdx(bill, { version: node }), image, `base-${getHex(digest).slice(0, 16)}`);
}

function addComponent(bill: string, component: object): string {
  const { components, ...others } = JSON.parse(bill) as { readonly components: readonly object[] };
  return toText({ ...others, components: [...components, component] });
}

/** @param suffix of the namespace, because a namespace names one document */
function addPackage(bill: string, added: { readonly SPDXID: string }, suffix: string): string {
  const document = JSON.parse(bill) as SpdxDocument;
  const relationship = { spdxElementId: document.documentDescribes[0], relationshipType: "CONTAINS", relatedSpdxElement: added.SPDXID };
  return toText({
    ...document,
    documentNamespace: `${document.documentNamespace}-${suffix}`,
    packages: [...document.packages, added],
    relationships: [...document.relationships, relationship],
  });
}

/** Members of an SPDX document that `addPackage` reads. */
interface SpdxDocument {
  readonly documentNamespace: string;
  readonly documentDescribes: readonly string[];
  readonly packages: readonly object[];
  readonly relationships: readonly object[];
}

/** @see https://github.com/package-url/purl-spec/blob/v1.0.0/types/oci-definition.json */
function getImagePurl({ name, tag, digest }: BaseImage): string {
  return `pkg:oci/${name.slice(name.lastIndexOf("/") + 1)}@${encodeURIComponent(digest)}?repository_url=${name}&tag=${tag}`;
}

function getHex(digest: string): string {
  return digest.slice(digest.indexOf(":") + 1);
}

function getNodePurl(version: string): string {
  return `pkg:generic/node@${version}`;
}

interface Program {
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
}

function getProgram({ packages }: Lockfile): Program {
  const { name = "", version = "", license } = packages[""] ?? {};
  return { name, version, license };
}

function toLicenses(license: string | undefined): object[] {
  if (license === undefined) return [];
  return [/ (OR|AND) /.test(license) ? { expression: license } : { license: { id: license } }];
}

/** SPDX ids consist of letters, digits, dots and hyphens. */
function toSpdxId(text: string): string {
  return `SPDXRef-${text.replaceAll(/[^A-Za-z0-9.-]+/g, "-")}`;
}

function toText(value: object): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}
