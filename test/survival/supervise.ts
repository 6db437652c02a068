import type { Server } from './setup.ts'

/**
 * Restarts servers that die, like a process supervisor, and counts the deaths. Servers that always
 * die are not restarted forever.
 */
export function supervise(servers: readonly Server[], maxDeaths: number) {
  let deaths = 0
  async function watch(server: Server): Promise<void> {
    const { killed } = await server.process.exited
    // The test kills the last ones.
    if (killed || ++deaths > maxDeaths) return
    server.start()
    return watch(server)
  }
  for (const server of servers) void watch(server)
  return { deaths: () => deaths }
}
