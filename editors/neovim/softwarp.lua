-- PTX in Neovim 0.11 or newer: put this file into ~/.config/nvim/plugin/.
-- It needs the program `softwarp` on the path. docs/editors.md says what there is.

vim.filetype.add({ extension = { ptx = "ptx" } })

vim.lsp.config("softwarp", {
  cmd = { "softwarp", "lsp" },
  filetypes = { "ptx" },
  root_markers = { "softwarp.toml", ".git" },
  -- How modules are checked: linked with others, by the manual's letter, for another GPU.
  init_options = { relocatable = false, strict = false, arch = nil },
})
vim.lsp.enable("softwarp")

--- Shows the places of an answer.
local function show(places)
  if #places == 1 then
    vim.lsp.util.show_document(places[1], "utf-8", { focus = true })
  elseif #places > 1 then
    vim.fn.setqflist({}, " ", { title = "PTX", items = vim.lsp.util.locations_to_items(places, "utf-8") })
    vim.cmd.copen()
  else
    vim.notify("nothing was made from this line, or the file is not there")
  end
end

--- The client, whichever buffer it serves.
local function client()
  return vim.lsp.get_clients({ name = "softwarp" })[1]
end

-- :PtxSource goes from PTX to the line of the program, :PtxLines from a line of the program to its PTX.
vim.api.nvim_create_user_command("PtxSource", function()
  local server = client()
  if not server then return end
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  server:request("softwarp/sourceLine", params, function(_, place) show(place and { place } or {}) end)
end, {})

vim.api.nvim_create_user_command("PtxLines", function()
  local server = client()
  if not server then return end
  local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, line = vim.fn.line(".") - 1 }
  server:request("softwarp/ptxLines", params, function(_, places) show(places or {}) end)
end, {})

-- The lens that names a line of the program.
vim.lsp.commands["softwarp.showSource"] = function(command) show({ command.arguments[1] }) end

-- The debugger, with nvim-dap.
local has_dap, dap = pcall(require, "dap")
if has_dap then
  dap.adapters.softwarp = { type = "executable", command = "softwarp", args = { "debug", "--dap" } }
  dap.configurations.ptx = {
    { type = "softwarp", request = "launch", name = "launch file", program = function()
      return vim.fn.input("launch file: ", vim.fn.expand("%:p:r") .. ".json", "file")
    end, stopOnEntry = true },
  }
end
