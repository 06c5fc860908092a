/** What `olmv1` exits with; scripts rely on it. */
export const EXIT = {
  /** Done, or the answer is yes. */
  yes: 0,
  /** The answer is no: something was found, does not resolve, differs, or did not come right. */
  no: 1,
  /** It could not be done or asked: wrong use, input that cannot be read, a refusal, no cluster. */
  error: 2,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;
