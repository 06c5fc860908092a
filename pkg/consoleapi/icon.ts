const TYPES = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** Maximum length of an icon in base64, in characters. */
const MAX_LENGTH = 512 * 1024;

/**
 * Returns the icon of an olm.package object as a data URL for an image element, which runs no scripts. Undefined if the object has no icon, or its
 * type or size is not allowed.
 */
export function readIconUrl(blob: { readonly icon?: unknown }): string | undefined {
  const { icon } = blob;
  if (typeof icon !== "object" || icon === null) return undefined;
  const { base64data, mediatype } = icon as { readonly base64data?: unknown; readonly mediatype?: unknown };
  if (typeof base64data !== "string" || typeof mediatype !== "string" || base64data.length > MAX_LENGTH) return undefined;
  const data = base64data.replace(/\s+/g, "");
  return TYPES.test(mediatype) && BASE64.test(data) ? `data:${mediatype};base64,${data}` : undefined;
}
