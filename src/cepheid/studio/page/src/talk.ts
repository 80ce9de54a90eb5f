// The web socket: questions to the studio, and their answers. `conversation.py` has the other side.

export interface Place {
  file: string | null;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
}

// What is to stand in a place instead.
export interface TextEdit extends Place {
  replacement: string;
}

// In the open text, whichever file that is.
export type OwnEdit = Omit<TextEdit, "file">;

export interface Finding {
  code: string;
  severity: "error" | "warning" | "note";
  message: string;
  hint: string | null;
  file: string | null;
  line: number | null;
  column: number | null;
  end_line?: number;
  end_column?: number;
  witness?: string[]; // events that show it, as lines of a file
  fixes?: { title: string; edits: TextEdit[] }[];
  text?: string; // the one in which it was found
}

export interface Progress {
  done: number;
  total: number | null;
}

// Why there is no answer: findings, or none where it was stopped.
export class NoAnswer extends Error {
  constructor(readonly problems: Finding[], readonly isStopped = false) {
    super(problems.map((each) => each.message).join("; ") || "stopped");
  }
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(reason: NoAnswer): void;
  progress?: ((progress: Progress) => void) | undefined;
}

export interface Question<T> extends Promise<T> {
  cancel(): void;
}

export const RETRY = 1500; // milliseconds

export class Talk {
  private socket: WebSocket | null = null;
  private waiting = new Map<number, Waiting>();
  private unsent: string[] = [];
  private last = 0;

  constructor(private address: string, private tell: (isOpen: boolean, reason: string) => void) {
    this.connect();
  }

  private connect(): void {
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.onopen = () => {
      this.tell(true, "");
      for (const text of this.unsent.splice(0)) socket.send(text);
    };
    socket.onmessage = (event) => this.hear(JSON.parse(event.data as string));
    socket.onclose = (event) => {
      this.socket = null;
      const lost = [...this.waiting.values()];
      this.waiting.clear();
      this.unsent.length = 0;
      for (const each of lost) each.reject(new NoAnswer([], true));
      this.tell(false, event.reason);
      setTimeout(() => this.connect(), RETRY);
    };
  }

  ask<T>(verb: string, given: object = {}, progress?: (progress: Progress) => void): Question<T> {
    const id = ++this.last;
    const answered = new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject, progress });
    });
    this.send({ id, verb, with: given });
    return Object.assign(answered, { cancel: () => this.cancel(id) });
  }

  private cancel(id: number): void {
    if (this.waiting.has(id)) this.send({ id: ++this.last, verb: "cancel", with: { id } });
  }

  private send(message: object): void {
    const text = JSON.stringify(message);
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
    else this.unsent.push(text);
  }

  private hear(said: { id: number; answer?: unknown; problems?: Finding[]; progress?: Progress }): void {
    const waiting = this.waiting.get(said.id);
    if (!waiting) return;
    if (said.progress) {
      waiting.progress?.(said.progress);
      return;
    }
    this.waiting.delete(said.id);
    if (said.problems) waiting.reject(new NoAnswer(said.problems));
    else if ("answer" in said) waiting.resolve(said.answer);
    else waiting.reject(new NoAnswer([], true));
  }
}
