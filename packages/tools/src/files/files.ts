import { accessSync, constants } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { Toolbox } from 'millrace'
import {
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  type OptionTable,
  type Problem,
  someText,
  wholeNumber,
  yesOrNo,
} from 'millrace/internal'
import { editFileTool } from './edit-file.ts'
import { findFilesTool } from './find-files.ts'
import { ignoring } from './ignore.ts'
import { listFilesTool } from './list-files.ts'
import type { Lookup } from './lookup.ts'
import { readFileTool } from './read-file.ts'
import { findRipgrep } from './ripgrep.ts'
import { searchFilesTool } from './search-files.ts'
import { openWorkspace, type Workspace } from './workspace.ts'
import { writeFileTool } from './write-file.ts'

export interface FilesOptions {
  /** The folder that the tools keep to. It must exist. */
  readonly workspace: string
  /** Leaves out the tools that write. */
  readonly readOnly?: boolean | undefined
  /** How much text one call of `read_file` shows; 256 KiB. */
  readonly maxReadBytes?: number | undefined
  /** How large a picture may be to be shown; 5 MiB. */
  readonly maxImageBytes?: number | undefined
  /** How many names or lines a listing, a search by name or by text shows; 200. */
  readonly maxResults?: number | undefined
  /**
   * Globs of what listings and searches leave out besides `.git` and `node_modules`: one without `/` is for names in any folder. What
   * is left out can still be read by its name.
   */
  readonly ignore?: readonly string[] | undefined
  /** Where ripgrep is; `false` to do without. The first `rg` of the PATH outside the workspace if absent. */
  readonly ripgrep?: string | false | undefined
}

/** Tools to read, write, edit, list, find and search files, confined to one folder. */
export function files(options: FilesOptions): Toolbox {
  const op = 'files'
  if (!isObject(options as unknown))
    throw invalidInput(op, `files() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'files(): the option' })
  if (options.workspace === undefined)
    throw invalidInput(op, 'files() needs a workspace: the folder that the tools keep to')
  return fileTools(openWorkspace(options.workspace), options)
}

/** The tools over a workspace that is open. */
export function fileTools(
  workspace: Workspace,
  {
    readOnly = false,
    maxReadBytes = 256 * 1024,
    maxImageBytes = 5 * 2 ** 20,
    maxResults = 200,
    ignore = [],
    ripgrep = findRipgrep(workspace.root) ?? false,
  }: Omit<FilesOptions, 'workspace'>,
): Toolbox {
  const lookup: Lookup = {
    workspace,
    maxResults,
    ignore,
    ignored: ignoring(ignore),
    ripgrep: ripgrep || undefined,
  }
  return {
    tools: [
      readFileTool(workspace, { maxReadBytes, maxImageBytes }),
      ...(readOnly ? [] : [writeFileTool(workspace), editFileTool(workspace)]),
      listFilesTool(lookup),
      findFilesTool(lookup),
      searchFilesTool(lookup),
    ],
  }
}

const table: OptionTable<FilesOptions> = {
  workspace: someText,
  readOnly: yesOrNo,
  maxReadBytes: wholeNumber(1),
  maxImageBytes: wholeNumber(1),
  maxResults: wholeNumber(1),
  ignore: (value) =>
    !(Array.isArray(value) && value.every((glob) => typeof glob === 'string' && glob !== '')) &&
    'must be an array of globs',
  ripgrep: (value) => value !== false && programProblem(value),
}

function programProblem(value: unknown): Problem {
  if (typeof value !== 'string' || !isAbsolute(value)) return 'must be the absolute path of rg, or false'
  try {
    accessSync(value, constants.X_OK)
    return undefined
  } catch {
    return 'must be the path of a program that can be run'
  }
}
