// Types of the files of undici that `client.ts` imports; undici declares types for its main file only.

declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}

declare module "undici/lib/dispatcher/proxy-agent.js" {
  export { ProxyAgent as default } from "undici";
}

declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";

  /** The method `request` of a dispatcher. */
  export default function request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
}
