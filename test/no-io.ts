import childProcess, { ChildProcess } from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { Server, Socket } from 'node:net'
import workerThreads from 'node:worker_threads'

// Enforces that unit tests open no sockets and start no processes or threads, unlike the slower
// tests.
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
