/** The bytes with which the images begin that icons are made of, in hexadecimal; a dot is any digit. */
const MAGIC: readonly (readonly [mediatype: string, start: RegExp])[] = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^47494638(?:37|39)61/],
  ["image/webp", /^52494646.{8}57454250/],
  ["image/bmp", /^424d/],
  ["image/tiff", /^(?:49492a00|4d4d002a)/],
  ["image/vnd.microsoft.icon", /^00000100/],
];
const SVG = "image/svg+xml";
/** An XML declaration, a license and a document type may come before the element. */
const SVG_LOOKED_AT = 64 * 1024;
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/svg", SVG],
  ["image/x-icon", "image/vnd.microsoft.icon"],
]);

/** Why `bytes` are no image of the mediatype; undefined when they are. */
export function iconFault(bytes: Buffer, mediatype: string): string | undefined {
  const found = imageType(bytes);
  if (found === undefined) return "icon data is not an image";
  const wanted = mediatype.toLowerCase().split(";", 1)[0]?.trim() ?? "";
  if ((OTHER_NAMES.get(wanted) ?? wanted) === found) return undefined;
  return `icon media type ${JSON.stringify(mediatype.slice(0, 100))} does not match detected media type "${found}"`;
}

function imageType(bytes: Buffer): string | undefined {
  const start = bytes.toString("hex", 0, 16);
  const magic = MAGIC.find(([, pattern]) => pattern.test(start));
  if (magic) return magic[0];
  const text = bytes.toString("latin1", 0, SVG_LOOKED_AT);
  return text.includes("<svg") || /<\w+:svg[\s>]/.test(text) ? SVG : undefined;
}
