/** What a client of a protocol has seen of an answer so far. */
export interface Seen {
  /** All text of the answer. Text that was retracted is gone, if the protocol can say so. */
  readonly text: string
  /** The tools whose results arrived. */
  readonly results: readonly string[]
  /** The tools that wait for approval. */
  readonly asks: readonly string[]
  /** How it ended. `cut`: the connection was lost. Undefined while it continues. */
  readonly end?: 'completed' | 'waiting' | 'canceled' | 'failed' | 'cut' | undefined
  /** Why it failed, as the client shows it. */
  readonly error?: string | undefined
}

/** An answer that is being received. */
export interface Answer {
  seen(): Seen
  /** Loses the connection, as if a network failed. For stdio: the server's process is killed. */
  cut(): Promise<void>
  /** Cancels in the way of the protocol. */
  cancel(): Promise<void>
  /**
   * Approves or denies everything that waits. Returns the answer that continues: the same one, or
   * that of the request which carries the decision.
   */
  decide(approved: boolean): Promise<Answer>
}

/** The official client of a protocol, with one conversation. */
export interface ProtocolClient {
  send(text: string): Promise<Answer>
  /**
   * Receives the current answer of the conversation again, after a cut: from its start, or from
   * where it was cut.
   */
  resume(): Promise<Answer>
  /** The thread of the conversation, once something was sent. */
  threadId(): Promise<string>
  /** Makes a thread that another client created the conversation of this client. */
  open(threadId: string): Promise<void>
  /** Sends something that the protocol must reject. Returns how it was rejected. */
  wrong(): Promise<string>
  close(): Promise<void>
}

export interface Driver {
  readonly name: string
  /** What the protocol cannot do, so that the suite leaves it out: see docs/protocols.md. */
  readonly without?: readonly ('results' | 'deltas')[]
  /** How `wrong` is rejected. */
  readonly rejection: RegExp
  connect(server: TestServer): Promise<ProtocolClient>
}

/** The server of a test. */
export interface TestServer {
  /** Of the HTTP server. */
  readonly url: string
  /** For a protocol over stdio: `millrace <command>` with the same agent and the same threads. */
  stdio(command: 'acp' | 'mcp'): {
    readonly command: string
    readonly args: string[]
    readonly env: Record<string, string>
  }
  /** Kills the HTTP server and starts it again at the same address. */
  restart(): Promise<void>
}
