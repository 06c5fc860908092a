/** The API of postject 1.0.0-alpha.6, which has no types. @see https://github.com/nodejs/postject/blob/v1.0.0-alpha.6/README.markdown */
declare module "postject" {
  /** Adds a resource to an executable file. Changes the file. */
  export function inject(
    file: string,
    resource: string,
    content: Buffer,
    options: { readonly sentinelFuse: string; readonly machoSegmentName?: string },
  ): Promise<void>;
}
