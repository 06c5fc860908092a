/** A scenario cannot run on this cluster; the message is the reason. It says nothing about the implementation. */
export class CannotRun extends Error {}
