import type { CatalogContent } from "../store/content.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";
import type { QueryJob } from "./queryThread.ts";

/** Numbers for contents, by which threads know those whose schema they have. */
export class ContentKeys {
  readonly #keys = new WeakMap<CatalogContent, number>();
  #last = 0;

  of(content: CatalogContent): number {
    const known = this.#keys.get(content);
    if (known !== undefined) return known;
    const key = ++this.#last;
    this.#keys.set(content, key);
    return key;
  }
}

/** What a thread needs to know to query a content, which has to be held meanwhile. @throws Error when the content has no part "graphql". */
export function queriedCatalog(content: CatalogContent, keys: ContentKeys): NonNullable<QueryJob["catalog"]> {
  const part = content.parts.get("graphql");
  if (!part) throw new Error("the catalog was stored without what its GraphQL schema is made of");
  const { index, file } = content.catalog;
  /** Aliases ask for the same lines again and again. */
  const found = new Map<string, Uint32Array>();
  const linesOf = ({ schema, name, package: packageName }: PageQuery): Uint32Array => {
    const key = JSON.stringify([schema, name, packageName]);
    const lines = found.get(key) ?? index.find({ schema, name, package: packageName });
    found.set(key, lines);
    return lines;
  };
  return {
    key: keys.of(content),
    metas: file.handle.fd,
    schemas: { fd: part.file.handle.fd, bytes: part.index.bytes },
    find: (query) =>
      [...linesOf(query).subarray(query.offset, query.offset + query.limit)].flatMap((line): LineRange[] => index.slices([line])),
  };
}
