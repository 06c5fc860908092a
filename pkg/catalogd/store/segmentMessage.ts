/** What the worker thread that compresses a part is to do: write the gzip form of the file `from` to the file `to`. */
export interface SegmentTask {
  from: string;
  to: string;
  /** Bytes of each line. */
  lengths: Uint32Array;
  /** CRC-32 that the file must have. */
  crc32: number;
  /** One number, shared with the thread: the thread stops before the next line once it is not 0. */
  stop: Int32Array<SharedArrayBuffer>;
}

/** What the worker thread says when it is done. */
export type SegmentMessage =
  /** `lengths`: bytes of each line's segment. `bytes` and `crc32` are those of the compressed file. */
  | { kind: "made"; lengths: Uint32Array<ArrayBuffer>; bytes: number; crc32: number }
  /** The file is not what its index says. */
  | { kind: "damaged"; message: string }
  | { kind: "failed"; message: string }
  /** The task's `stop` was set. */
  | { kind: "stopped" };
