/** Why a service gave no answer; the words name the party, and no number of the input. */
export class ServiceError extends Error {
  /** A code of the service (`busy`, `budget`, ...), or of this client (`unreachable`, `mixed`, ...). */
  readonly code: string;
  /** The address of the party that it is about. */
  readonly party: string | undefined;

  constructor(code: string, message: string, party?: string) {
    super(message);
    this.name = "ServiceError";
    this.code = code;
    this.party = party;
  }
}

/** A request that may be answered if it is made anew: with a new id, and shared anew. */
export class AnewError extends ServiceError {}
