const tasks: (() => unknown)[] = []

/** Done when the tests of this file are over, which may run side by side. */
export function afterFile(task: () => unknown): void {
  tasks.push(task)
}

export async function cleanUp(): Promise<void> {
  for (const task of tasks.splice(0)) await task()
}
