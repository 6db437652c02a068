import childProcess, { ChildProcess } from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { Server, Socket } from 'node:net'
import workerThreads from 'node:worker_threads'

// A unit test opens no socket and starts no process or thread: it is told apart by that from the slower ones, and held to it here.
function forbid(target: object, method: string, what: string, project: string): void {
  Object.defineProperty(target, method, {
    value() {
      throw new Error(`a unit test ${what}: name the file *.${project}.test.ts`)
    },
  })
}

forbid(Server.prototype, 'listen', 'listens on a socket', 'io')
forbid(Socket.prototype, 'connect', 'opens a connection', 'io')
forbid(ChildProcess.prototype, 'spawn', 'starts a process', 'process')
for (const method of ['spawnSync', 'execFileSync', 'execSync'])
  forbid(childProcess, method, 'starts a process', 'process')
forbid(workerThreads, 'Worker', 'starts a thread', 'process')
syncBuiltinESMExports()
