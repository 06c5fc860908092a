import { expect, test } from "vitest";
import { formatImagePlace, parseDestination, parsePlace } from "./imagePlace.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

test.for<[text: string, kind: string, shown: string]>([
  ["quay.io/team/app:v1", "registry", "quay.io/team/app:v1"],
  ["docker://quay.io/team/app:v1", "registry", "quay.io/team/app:v1"],
  [`localhost:5000/app@${DIGEST}`, "registry", `localhost:5000/app@${DIGEST}`],
  ["oci:build/catalog", "oci", "oci:build/catalog"],
  ["oci:build/catalog:v1", "oci", "oci:build/catalog:v1"],
  ["oci-archive:/tmp/a.tar:latest", "oci-archive", "oci-archive:/tmp/a.tar:latest"],
  [`oci:carried@${DIGEST}`, "oci", `oci:carried@${DIGEST}`],
])("%s is a location", ([text, kind, shown]) => {
  const place = parsePlace(text);
  expect([place.kind, formatImagePlace(place)]).toEqual([kind, shown]);
});

// containers-transports(5): the text after the first colon names the image.
test.for<[text: string, path: string, tag: string]>([
  ["oci:build/catalog", "build/catalog", ""],
  ["oci:build/catalog:v1", "build/catalog", "v1"],
  ["oci:carried:quay.io/team/app:v1", "carried", "quay.io/team/app:v1"],
  [`oci-archive:a.tar@${DIGEST}`, "a.tar", DIGEST],
])("parsePlace splits %s into the path of a layout and a tag", ([text, path, tag]) => {
  expect(parsePlace(text)).toMatchObject({ path, tag });
});

test.for<[text: string, says: string]>([
  ["oci::v1", '"oci::v1" has no path: expected oci:PATH[:TAG]'],
  ["oci:", '"oci:" has no path: expected oci:PATH[:TAG]'],
  ["team/app", '"team/app" has no registry: use docker.io/team/app, or oci:PATH for a folder'],
  ["quay.io/Team/app:v1", '"quay.io/Team/app:v1" is not an image reference: invalid reference format: repository name must be lowercase'],
  [`quay.io/team/app:v1@${DIGEST}`, "has both a tag and a digest: remove one of them"],
])("parsePlace rejects %s", ([text, says]) => {
  expect(() => parsePlace(text)).toThrow(says);
});

test("a push destination must have a tag", () => {
  expect(() => parseDestination(`quay.io/app@${DIGEST}`)).toThrow("use a tag instead of a digest");
  expect(() => parseDestination("docker://quay.io/app")).toThrow("has no tag: add one, for example quay.io/app:latest");
  expect(() => parseDestination(`oci:x@${DIGEST}`)).toThrow("use a tag instead of a digest");
  expect(formatImagePlace(parseDestination("oci:x"))).toBe("oci:x");
});
