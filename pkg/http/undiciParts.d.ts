// Types of the files of undici that `undici.ts` imports; undici declares types for its main file only.

declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}

declare module "undici/lib/dispatcher/proxy-agent.js" {
  export { ProxyAgent as default } from "undici";
}

declare module "undici/lib/dispatcher/dispatcher.js" {
  export { Dispatcher as default } from "undici";
}

declare module "undici/lib/api/index.js" {
  const api: Record<string, (...args: never[]) => unknown>;
  export default api;
}
