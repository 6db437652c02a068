const tasks: (() => unknown)[] = []

/** Runs after the last test of the file: tests of one file may run concurrently. */
export function afterFile(task: () => unknown): void {
  tasks.push(task)
}

export async function cleanUp(): Promise<void> {
  // The latest first. If one fails, the others are left for the next file.
  while (tasks.length > 0) await tasks.pop()?.()
}
