import { posix } from 'node:path'
import type { Access } from 'millrace'
import { foldName } from './command-pattern.ts'
import { canonicalHost } from './host-pattern.ts'
import type { ParsedPath } from './path-pattern.ts'
import { foldPath, parsePath } from './path-pattern.ts'
import { whyProtected } from './protected.ts'

/** One access, prepared for matching against all rules. Without `access`, the call as a whole. */
export interface Subject {
  readonly access: Access | undefined
  /** Its effect is not clear from its text: a pattern can deny it, but not allow it. */
  readonly unclear: boolean
  /** It comes with a command, to which tool-name rules and allow rules already apply. */
  readonly implied: boolean
  /** The command and other spellings of it, each also with its name in lower case. */
  readonly commands: readonly string[]
  /** Commands that an allow rule may name in full: itself, or the whole line. */
  readonly exact: readonly string[]
  /** If unclear: the beginning that a rule with a `*` has to name. */
  readonly form: string | undefined
  readonly paths: readonly ParsedPath[]
  readonly host: string | undefined
  /**
   * If written: the part of the path that makes another program run something, such as `.husky`.
   */
  readonly protectedName: string | undefined
  /** The tool's fingerprint, for a call as a whole. */
  readonly fingerprint: string | undefined
}

const noDetails = {
  commands: [],
  exact: [],
  form: undefined,
  paths: [],
  host: undefined,
  implied: false,
  fingerprint: undefined,
  protectedName: undefined,
}

/** A call without accesses: the tool does not declare them (`unclear`), or there are none. */
export function wholeCall({ unclear, fingerprint }: Pick<Subject, 'unclear' | 'fingerprint'>): Subject {
  return { ...noDetails, access: undefined, unclear, fingerprint }
}

export function subjectOf(access: Access): Subject {
  switch (access.kind) {
    case 'run': {
      const commands = [access.command, ...(access.also ?? [])]
      return {
        ...noDetails,
        access,
        unclear: access.opaque === true,
        commands: [...commands, ...commands.map(foldName)],
        // In another folder the same words may do something else.
        exact: access.line !== undefined ? [access.line] : access.varies ? [] : [access.command],
        form: access.form,
      }
    }
    case 'fetch': {
      const host = canonicalHost(access.host)
      return { ...noDetails, access, unclear: host === undefined, host }
    }
    default: {
      const path = posix.normalize(access.path)
      // The sandbox protects these paths itself.
      const isProtectable = access.kind === 'write' && !access.contained
      return {
        ...noDetails,
        access,
        implied: access.implied === true,
        // A tool may pass on a path as the model wrote it, in any of many spellings.
        unclear: access.opaque === true || access.path.split('/').includes('..'),
        paths: [parsePath(path), parsePath(foldPath(path))],
        protectedName: isProtectable
          ? foldPath(path)
              .split('/')
              .find((name) => whyProtected(name))
          : undefined,
      }
    }
  }
}
