import type { Access, PolicyDecision } from 'millrace'
import type { PermissionOptions } from './permission.ts'
import { permission } from './permission.ts'

export const run = (command: string, more: object = {}): Access => ({ kind: 'run', command, ...more })
export const read = (path: string, more: object = {}): Access => ({ kind: 'read', path, ...more })
export const write = (path: string, more: object = {}): Access => ({ kind: 'write', path, ...more })
export const fetch = (host: string): Access => ({ kind: 'fetch', host })

export interface Calling {
  readonly name?: string
  readonly granted?: readonly string[]
}

/**
 * The decision of rules without a memory about these accesses; `undefined` if the tool does not
 * declare them.
 */
export function decide(
  rules: PermissionOptions,
  access: readonly Access[] | undefined,
  { name = 'shell', granted = [] }: Calling = {},
): PolicyDecision {
  const decision = permission(rules).decide({ name, input: {}, access }, granted)
  if (decision instanceof Promise) throw new Error('expected a synchronous decision')
  return decision
}
