/** Where in a catalog something is wrong. */
export interface ContentPlace {
  /** Path below the catalog's root, with slashes. */
  file: string;
  /** Counts from 1 within the file. */
  document?: number | undefined;
  /** Counts from 1 within the file. */
  line?: number | undefined;
}

/** A part of a catalog cannot be read; the text names file, document, line and reason. */
export class ContentError extends Error {
  readonly place: ContentPlace;
  readonly reason: string;

  constructor(place: ContentPlace, reason: string, options?: ErrorOptions) {
    super(`${placeText(place)}: ${reason}`, options);
    this.name = "ContentError";
    this.place = place;
    this.reason = reason;
  }
}

/** Such as `a/catalog.yaml: document 3, line 40`. */
export function placeText({ file, document, line }: ContentPlace): string {
  const at = [document === undefined ? "" : `document ${document}`, line === undefined ? "" : `line ${line}`];
  return [file, at.filter((part) => part !== "").join(", ")].filter((part) => part !== "").join(": ");
}
