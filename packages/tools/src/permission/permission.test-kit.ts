import type { Access, Ruling } from 'millrace'
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

/** What rules without a memory say of a call that touches this; `undefined` is a tool that does not say. */
export function judge(
  rules: PermissionOptions,
  access: readonly Access[] | undefined,
  { name = 'shell', granted = [] }: Calling = {},
): Ruling {
  const ruling = permission(rules).judge({ name, input: {}, access }, granted)
  if (ruling instanceof Promise) throw new Error('there is nothing to wait for')
  return ruling
}
