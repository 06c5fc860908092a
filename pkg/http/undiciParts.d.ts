// Types for the undici files that `undici.ts` imports, because undici declares types only for its
// main file.

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
