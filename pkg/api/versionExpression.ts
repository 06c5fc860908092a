/**
 * What `spec.source.catalog.version` may look like. The odd parts are the upstream API's own (a first "version" of `|`, `*]` for a wildcard in
 * some places) and stay, since they decide what is accepted; what a version range means is another matter.
 */
export function versionExpression(): string {
  const operator = String.raw`(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)`;
  const preRelease = String.raw`(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`;
  const build = String.raw`(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`;
  const first = String.raw`(v?(0|[1-9]\d*|[x|X|\*])(\.(0|[1-9]\d*|x|X|\*]))?(\.(0|[1-9]\d*|x|X|\*))?${preRelease}${build})`;
  const further = String.raw`(v?(0|[1-9]\d*|x|X|\*])(\.(0|[1-9]\d*|x|X|\*))?(\.(0|[1-9]\d*|x|X|\*]))?${preRelease}${build})`;
  return String.raw`^(\s*${operator}\s*${first}\s*)((?:\s+|,\s*|\s*\|\|\s*)${operator}\s*${further}\s*)*$`;
}
