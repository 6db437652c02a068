import { Writable } from 'node:stream'

/** Stdout carries only the protocol. What agents, tools and their packages print goes to stderr. */
export function takeStdout(): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  return new Writable({ write: (chunk: Buffer, _, done) => void write(chunk, done) })
}
